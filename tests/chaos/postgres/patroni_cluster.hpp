// PatroniCluster: three PostgreSQL nodes under Patroni for one test, which may kill whoever leads.
//
// Starting them takes about ten seconds. A leader that is killed is missed after five.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "chaos/chaos_test.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {

class PatroniCluster {
public:
    static constexpr int node_count = 3;
    enum class Mode {
        synchronous,   // a commit is confirmed when a standby has it, however long that takes
        asynchronous,  // and one that is confirmed may be lost
    };

    // Throws std::runtime_error with the script's words when that fails.
    explicit PatroniCluster(Mode mode);
    // Stops the nodes and removes their data; if the test program crashes, the script does.
    ~PatroniCluster();
    PatroniCluster(const PatroniCluster&) = delete;
    PatroniCluster& operator=(const PatroniCluster&) = delete;

    // That of all nodes: whoever connects finds the one that takes writes.
    std::string url(const std::string& database) const;

    std::string node_url(int number, const std::string& database) const;

    // The node that takes writes; nodes are counted from 1.
    std::optional<int> leader() const;
    // Returns when one leads, both others get what it writes, and one of them may take over.
    void await_whole();

    // SIGKILL to Patroni and PostgreSQL of a node. For so long before, nothing reaches the
    // standbys.
    void crash(int number, std::chrono::milliseconds lag = {});
    // Does not wait until it has caught up.
    void resume(int number);
    // Hands the lead to a standby in good order. Throws std::runtime_error when nobody can take it.
    void switch_over();

private:
    void run_script(const std::string& action, const std::vector<std::string>& further = {}) const;
    // host:port
    std::string address(int number) const;

    TempDir directory_;
};

// A database on whichever node leads. It goes with the cluster.
class ClusterDatabase final : public ChaosDatabase {
public:
    // Makes it, and returns when every node has it.
    ClusterDatabase(const PatroniCluster& cluster, const std::string& name);

    const std::string& url() const override { return url_; }
    std::vector<std::vector<std::optional<std::string>>> sql(const std::string& text) override;
    std::string table(const std::string& name) const override { return "infra.\"" + name + '"'; }
    std::vector<std::string> damage() override;

private:
    const std::string url_;
};

}  // namespace postroom::test
