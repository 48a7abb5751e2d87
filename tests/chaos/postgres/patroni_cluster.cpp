#include "chaos/postgres/patroni_cluster.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>

#include "chaos/postgres/database.hpp"
#include "support/attempt.hpp"
#include "support/postgres_server.hpp"
#include "support/server_script.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {

using namespace std::chrono_literals;

namespace {

bool takes_connections(const std::string& url) {
    try {
        return psql(url, "SELECT 1").size() == 1;
    } catch (const SqlError&) {
        return false;
    }
}

}  // namespace

PatroniCluster::PatroniCluster(Mode mode) {
    // What a failed start leaves behind, the script removes itself.
    run_script("start", {mode == Mode::synchronous ? "synchronous" : "asynchronous",
                         std::to_string(::getpid())});
}

PatroniCluster::~PatroniCluster() {
    attempt("cluster not stopped", [this] { run_script("stop"); });
}

std::string PatroniCluster::address(int number) const {
    const auto values = server_values(directory_ / "patroni", fmt::format("node{}", number));
    return fmt::format("{}:{}", values.at("host"), values.at("port"));
}

std::string PatroniCluster::url(const std::string& database) const {
    return fmt::format("postgresql://postroom@{},{},{}/{}?target_session_attrs=read-write",
                       address(1), address(2), address(3), database);
}

std::string PatroniCluster::node_url(int number, const std::string& database) const {
    return fmt::format("postgresql://postroom@{}/{}", address(number), database);
}

std::optional<int> PatroniCluster::leader() const {
    for (int number = 1; number <= node_count; ++number) {
        try {
            if (psql(node_url(number, "postgres"), "SELECT pg_is_in_recovery()").at(0).at(0) == "f")
                return number;
        } catch (const SqlError&) {  // NOLINT(bugprone-empty-catch): it does not run
        }
    }
    return std::nullopt;
}

void PatroniCluster::await_whole() { run_script("await"); }

void PatroniCluster::crash(int number, std::chrono::milliseconds lag) {
    run_script("crash", {std::to_string(number), std::to_string(lag.count())});
}

void PatroniCluster::resume(int number) { run_script("resume", {std::to_string(number)}); }

void PatroniCluster::switch_over() { run_script("switch"); }

void PatroniCluster::run_script(const std::string& action,
                                const std::vector<std::string>& further) const {
    std::vector<std::string> arguments{action, (directory_ / "patroni").string()};
    arguments.insert(arguments.end(), further.begin(), further.end());
    run_server_script("patroni.sh", arguments);
}

ClusterDatabase::ClusterDatabase(const PatroniCluster& cluster, const std::string& name)
    : url_(cluster.url(name)) {
    psql(cluster.url("postgres"), "CREATE DATABASE " + name);
    // A standby that does not know it yet would refuse whoever asks there first.
    for (int number = 1; number <= PatroniCluster::node_count; ++number)
        if (!wait_until([&] { return takes_connections(cluster.node_url(number, name)); }, 60s))
            throw std::runtime_error(fmt::format("node {} does not get the database", number));
}

SqlRows ClusterDatabase::sql(const std::string& text) { return psql(url_, text); }

std::vector<std::string> ClusterDatabase::damage() { return postgres_damage(*this); }

}  // namespace postroom::test
