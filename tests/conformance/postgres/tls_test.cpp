// Encrypted connections: the certificate of the server is checked, and so is that one speaks to it
// in private.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "postroom/backend/postgres.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/private_postgres.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

// A server with a certificate for 127.0.0.1 that it has signed itself. It makes the files, because
// they must be its own.
class PostgresTls : public testing::Test {
protected:
    PostgresTls() {
        sql("COPY (SELECT 1) TO PROGRAM 'openssl req -x509 -newkey ec -pkeyopt "
            "ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=localhost -addext "
            "subjectAltName=IP:127.0.0.1 -keyout server.key -out server.crt 2>/dev/null && chmod "
            "600 server.key'");
        std::ofstream(ca_file_) << sql("SELECT pg_read_file('server.crt')").at(0).at(0).value();
        sql("ALTER SYSTEM SET ssl = on");
        sql("SELECT pg_reload_conf()");
        EXPECT_TRUE(wait_until([&] { return sql("SHOW ssl").at(0).at(0) == "on"; }, 90s));
    }

    SqlRows sql(const std::string& text) { return psql(server_.server().url("postgres"), text); }
    std::string url(const std::string& mode, const std::string& ca_file) const {
        const std::string plain = server_.server().url("postgres");
        return plain + (plain.find('?') == std::string::npos ? "?" : "&") + "sslmode=" + mode +
               "&sslrootcert=" + ca_file;
    }

    TempDir directory_;
    const std::string ca_file_ = (directory_ / "ca.crt").string();
    PrivatePostgres server_;
};

TEST_F(PostgresTls, OBX_107_IBX_128_AStoreSpeaksToAServerWhoseCertificateItKnows) {
    const auto store = postgres::open_store(url("verify-full", ca_file_), {.deploy_schema = true});
    const std::unique_ptr<Transaction> tx = store->begin();
    EXPECT_EQ(
        tx->execute({.sql = "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()"}),
        (SqlRows{{"true"}}));
    Outbox(*store).enqueue(*tx, {.topic = "t", .payload = "p"});
    tx->commit();
    EXPECT_EQ(store->counts(Queue::outbox).ready, 1U);
}

TEST_F(PostgresTls, OBX_107_IBX_128_AServerWithAnotherCertificateIsRefused) {
    const std::string other = (directory_ / "other.crt").string();
    sql("COPY (SELECT 1) TO PROGRAM 'openssl req -x509 -newkey ec -pkeyopt "
        "ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=other -keyout other.key -out "
        "other.crt 2>/dev/null'");
    std::ofstream(other) << sql("SELECT pg_read_file('other.crt')").at(0).at(0).value();
    try {
        const auto store = postgres::open_store(url("verify-full", other));
        store->now();
        FAIL() << "it was trusted";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unavailable);
        EXPECT_THAT(error.what(), testing::HasSubstr("certificate"));
    }
}

}  // namespace
}  // namespace postroom::test
