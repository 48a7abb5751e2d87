// GaleraCluster: three MariaDB nodes for one test, each of which may be killed.
//
// Starting them takes about eight seconds. What is committed at one node is soon seen at the
// others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chaos/mysql/database.hpp"
#include "support/mariadb_server.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {

class GaleraCluster {
public:
    static constexpr int node_count = 3;

    // Throws std::runtime_error with the script's words when that fails.
    GaleraCluster();
    // Stops the nodes and removes their data; if the test program crashes, the script does.
    ~GaleraCluster();
    GaleraCluster(const GaleraCluster&) = delete;
    GaleraCluster& operator=(const GaleraCluster&) = delete;

    // Nodes are counted from 1. Their addresses stay the same.
    MariadbServer node(int number) const;

    // SIGKILL. The others notice after some five seconds, in which nothing commits.
    void crash(int number);
    // Returns when the node has what it missed. Throws std::runtime_error when it cannot.
    void resume(int number);

    // How many transactions of any node lost against one of another: at their commit, and before.
    // A node forgets its figures when it is killed.
    std::uint64_t lost_conflicts() const;

private:
    void run_script(const std::string& action, const std::vector<std::string>& further = {});

    TempDir directory_;
};

// A database as one of the nodes has it. It goes with the cluster.
class NodeDatabase final : public ChaosDatabase {
public:
    NodeDatabase(const GaleraCluster& cluster, int number, const std::string& name)
        : url_(cluster.node(number).url(name)) {}

    const std::string& url() const override { return url_; }
    // Sees all that was committed at any node before the call.
    SqlRows sql(const std::string& text) override {
        return mariadb_sql(url_, "SET wsrep_sync_wait = 15; " + text);
    }
    std::string table(const std::string& name) const override { return '`' + name + '`'; }
    std::vector<std::string> damage() override;

    // All rows of all tables of the store, as one figure each: to be held against another node's.
    std::vector<std::string> fingerprint();

private:
    std::uint64_t sessions() override { return count(mariadb_sessions_sql); }

    std::string url_;
};

}  // namespace postroom::test
