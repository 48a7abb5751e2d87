// The driver against a scripted peer: what a server could only be made to do with luck.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "backends/sqlserver/driver.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlserver {
namespace {

using namespace std::chrono_literals;
using test::ChildProcess;
using test::TempDir;

class Peer {
public:
    explicit Peer(const std::vector<std::string>& arguments = {})
        : process_({.program = "/usr/bin/env", .arguments = with_script(arguments)}),
          port_(process_.read_line(60s).value()) {}

    const std::string& port() const { return port_; }
    std::string url() const {
        return "sqlserver://me:secret@127.0.0.1:" + port_ + "/shop?driver=FreeTDS";
    }
    // Whether somebody has come as far as giving a password.
    bool had_login() {
        const std::optional<std::string> line = process_.read_line(200ms);
        return line && *line == "login";
    }

private:
    static std::vector<std::string> with_script(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(),
                         {"node", POSTROOM_SOURCE_DIR "/tests/peers/tds_peer.mjs"});
        return arguments;
    }

    ChildProcess process_;
    const std::string port_;
};

class SqlServerPeer : public testing::Test {
protected:
    std::unique_ptr<Driver> connect(Duration patience = 60s) {
        const OpenOptions options{.connect_timeout = 60s, .statement_timeout = patience};
        return std::make_unique<Driver>(open_session(Address::parse(peer_.url()), options),
                                        patience);
    }
    static ErrorKind kind_thrown(const std::function<void()>& act) {
        try {
            act();
        } catch (const Error& error) {
            return error.kind();
        }
        ADD_FAILURE() << "nothing was thrown";
        return ErrorKind::misuse;
    }
    static SqlRows run(Driver& driver, const std::string& sql) {
        return driver.execute({.sql = sql, .params = {}});
    }

    Peer peer_;
};

TEST_F(SqlServerPeer, ValuesOfEveryKindAreRead) {
    const auto driver = connect();
    const SqlRows rows = run(*driver, "SELECT types");
    EXPECT_EQ(rows, (SqlRows{{"-9223372036854775808", "caf\xC3\xA9 \xF0\x9F\x93\xAE ",
                              std::string("\0\xFF\x01", 3), "1970-01-01T12:00:00.000001"},
                             {{}, {}, {}, {}}}));
}

TEST_F(SqlServerPeer, AMegabyteThatComesInChunksIsReadWhole) {
    const auto driver = connect();
    std::string expected;
    for (char i = 0; i < 16; ++i) expected.append(65536, i);
    const SqlRows rows = run(*driver, "SELECT chunked");
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_TRUE(rows[0][0] == expected);
}

TEST_F(SqlServerPeer, AnErrorInTheMiddleOfABatchIsNotMissed) {
    const auto driver = connect();
    EXPECT_EQ(kind_thrown([&] { run(*driver, "SELECT fails 1205"); }), ErrorKind::conflict);
    EXPECT_EQ(kind_thrown([&] { run(*driver, "SELECT fails 2627"); }), ErrorKind::rejected);
    EXPECT_TRUE(driver->healthy());
    EXPECT_EQ(kind_thrown([&] { run(*driver, "SELECT fails 40197"); }), ErrorKind::unavailable);
    EXPECT_FALSE(driver->healthy());
}

TEST_F(SqlServerPeer, ALostConnectionIsUnavailable) {
    const auto driver = connect();
    EXPECT_EQ(kind_thrown([&] { run(*driver, "SELECT hang up"); }), ErrorKind::unavailable);
    EXPECT_FALSE(driver->healthy());
    EXPECT_FALSE(driver->in_transaction());
}

TEST_F(SqlServerPeer, AConnectionLostDuringTheCommitLeavesTheOutcomeUnknown) {
    const auto driver = connect();
    driver->begin();
    run(*driver, "SELECT lost commit");
    EXPECT_EQ(kind_thrown([&] { driver->commit(); }), ErrorKind::outcome_unknown);
    EXPECT_FALSE(driver->healthy());
}

// A procedure that is a transaction by itself may have committed before the connection was lost.
TEST_F(SqlServerPeer, AConnectionLostInAProcedureThatCommitsLeavesTheOutcomeUnknown) {
    const auto driver = connect();
    sql::Statement statement = sql::Statement::compile("EXEC hang up", sql::Placeholder::plain);
    statement.traits = {.compound = true, .own_transaction = true};
    const sql::Params params;
    const sql::Call call{.statement = &statement, .params = &params};
    EXPECT_EQ(kind_thrown([&] { driver->run(sql::Bracket::transaction, std::span(&call, 1), {}); }),
              ErrorKind::outcome_unknown);
    EXPECT_FALSE(driver->healthy());
}

TEST_F(SqlServerPeer, AServerThatNeverAnswersIsGivenUp) {
    const auto driver = connect(1s);
    EXPECT_EQ(kind_thrown([&] { run(*driver, "SELECT never"); }), ErrorKind::unavailable);
    EXPECT_FALSE(driver->healthy());
}

// Drivers cut values that are longer than their type, and put question marks in the place of
// characters that they cannot convert, without a word.
TEST_F(SqlServerPeer, ParametersReachTheServerWhole) {
    const auto driver = connect();
    const std::string envelope = "\xF0\x9F\x93\xAE";
    std::string many;
    for (int i = 0; i < 4001; ++i) many += envelope;
    const auto arrived = [&](const SqlValue& text, std::size_t bytes) {
        return driver->execute(
            {.sql = "SELECT arrived WHERE a = ? AND b = ? AND c = ? AND d = ?",
             .params = {std::int64_t{5}, text, Blob{std::string(bytes, '\a')}, SqlValue{}}});
    };
    EXPECT_EQ(arrived(envelope, 0), (SqlRows{{"1", "0"}}));
    EXPECT_EQ(arrived("a" + envelope + "\xC3\xA9", 8001), (SqlRows{{"1", "8001"}}));
    EXPECT_EQ(arrived(many, 100'000), (SqlRows{{"4001", "100000"}}));
}

// There nobody knows how the driver was told to read narrow texts.
TEST_F(SqlServerPeer, WhatTheDriverWouldLoseOnABorrowedConnectionIsRefused) {
    const ConnectionHandle session =
        open_session(Address::parse(peer_.url()), {.connect_timeout = 60s});
    Driver driver(session.get());
    const auto arrived = [&](const std::string& text) {
        return driver.execute({.sql = "SELECT arrived WHERE a = ?", .params = {text}});
    };
    EXPECT_EQ(arrived("caf\xC3\xA9"), (SqlRows{{"0", "0"}}));
    EXPECT_EQ(kind_thrown([&] { arrived("\xF0\x9F\x93\xAE"); }), ErrorKind::rejected);
}

// Keys and certificates, made by the openssl program.
class SqlServerTls : public testing::Test {
protected:
    void certify(const std::string& name, const std::string& host) {
        const std::string base = (folder_.path() / name).string();
        ASSERT_EQ(std::system(("openssl req -x509 -newkey rsa:2048 -nodes -days 30 -keyout " +
                               base + ".key -out " + base + ".pem -subj /CN=" + host +
                               " -addext subjectAltName=DNS:" + host + " 2>/dev/null")
                                  .c_str()),
                  0);
    }
    std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

    // Whether a connection through a section of freetds.conf that trusts `ca` gets to the login.
    bool connects(Peer& peer, const std::string& ca, std::string* why = nullptr) {
        std::ofstream(file("freetds.conf"))
            << "[peer]\nhost = localhost\nport = " << peer.port()
            << "\ntds version = 7.4\nencryption = require\nca file = " << ca << "\n";
        ::setenv("FREETDSCONF", file("freetds.conf").c_str(), 1);
        bool connected = true;
        try {
            open_session(Address::parse(
                             "sqlserver://me:secret@localhost/shop?driver=FreeTDS&servername=peer"),
                         {.connect_timeout = 60s});
        } catch (const Error& error) {
            connected = false;
            if (why != nullptr) *why = error.what();
        }
        ::unsetenv("FREETDSCONF");
        return connected;
    }

    TempDir folder_;
};

TEST_F(SqlServerTls, ACertificateThatIsKnownAndNamesTheHostIsAccepted) {
    certify("good", "localhost");
    Peer peer({file("good.key"), file("good.pem")});
    std::string why;
    EXPECT_TRUE(connects(peer, file("good.pem"), &why)) << why;
    EXPECT_TRUE(peer.had_login());
}

TEST_F(SqlServerTls, AnUnknownCertificateIsRefusedBeforeThePassword) {
    certify("good", "localhost");
    certify("other", "localhost");
    Peer peer({file("good.key"), file("good.pem")});
    EXPECT_FALSE(connects(peer, file("other.pem")));
    EXPECT_FALSE(peer.had_login());
}

TEST_F(SqlServerTls, ACertificateForAnotherHostIsRefusedBeforeThePassword) {
    certify("else", "db.example.com");
    Peer peer({file("else.key"), file("else.pem")});
    EXPECT_FALSE(connects(peer, file("else.pem")));
    EXPECT_FALSE(peer.had_login());
}

TEST_F(SqlServerTls, APeerWithoutTlsIsRefusedBeforeThePassword) {
    certify("good", "localhost");
    Peer peer;
    EXPECT_FALSE(connects(peer, file("good.pem")));
    EXPECT_FALSE(peer.had_login());
}

}  // namespace
}  // namespace postroom::sqlserver
