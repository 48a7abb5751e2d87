// A store on three Galera nodes at once: what one node has locked another does not know, so writers
// of different nodes meet only when they commit, and one of them is told to begin again.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "chaos/claim_race.hpp"
#include "chaos/history.hpp"
#include "chaos/kill_run.hpp"
#include "chaos/mysql/galera_cluster.hpp"
#include "chaos/pack.hpp"
#include "support/scale.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

constexpr int node_count = GaleraCluster::node_count;
constexpr std::uint64_t roaming_child = 2 * node_count;  // knows all nodes
constexpr std::uint64_t child_count = roaming_child + 1;

// host:port of mysql://account@host:port/database
std::string place_of(const std::string& url) {
    const std::size_t at = url.rfind('@') + 1;
    return url.substr(at, url.find('/', at) - at);
}

class GaleraTest : public testing::Test {
protected:
    GaleraTest() : name_(cluster_.node(1).create_database()) { open_schema(url(1))->deploy(); }

    GaleraCluster& cluster() { return cluster_; }
    std::string url(int node) const { return cluster_.node(node).url(name_); }
    // One with all nodes, in the order in which they are killed.
    std::string url_of_all() const {
        std::string all = url(3);
        const std::string place = place_of(all);
        return all.replace(all.find(place), place.size(),
                           fmt::format("{},{},{}", place, place_of(url(1)), place_of(url(2))));
    }
    NodeDatabase database(int node) const { return {cluster_, node, name_}; }

    void expect_the_same_everywhere() {
        const std::vector<std::string> first = database(1).fingerprint();
        EXPECT_THAT(first, testing::Not(IsEmpty()));
        for (int node = 2; node <= node_count; ++node)
            EXPECT_EQ(database(node).fingerprint(), first) << "at node " << node;
    }

private:
    GaleraCluster cluster_;
    const std::string name_;
};

TEST_F(GaleraTest, ConflictsAtCommitAreRetriedAndNoMessageIsHeldTwice) {
    const std::uint64_t count = scaled(20'000, 2000);
    fill_race(Outbox(*open_store(url(1))), count);
    Sightings sightings;
    const std::uint64_t before = cluster().lost_conflicts();
    const auto took =
        race({url(1), url(2), url(3)}, count, sightings, {.bears_conflicts = true}, 42);
    const std::uint64_t conflicts = cluster().lost_conflicts() - before;
    judge_race("three nodes", count, took, sightings, 42);
    fmt::print(
        "{} transactions lost against another node's; {} calls gave up after their retries\n",
        conflicts, sightings.conflicts);
    EXPECT_EQ(torture::redelivered(sightings.holds), 0U);
    EXPECT_GT(conflicts, 0U) << "the nodes never met: the race was too tame";
    EXPECT_LT(sightings.conflicts, conflicts) << "nothing was retried";
    NodeDatabase last = database(3);
    EXPECT_THAT(broken_links(last, "outbox"), IsEmpty());
    expect_the_same_everywhere();
}

std::size_t lines_with(const std::filesystem::path& journal, const std::string& beginning) {
    std::ifstream in(journal);
    std::size_t found = 0;
    for (std::string line; std::getline(in, line);) found += line.starts_with(beginning);
    return found;
}

class GaleraNodeKillTest : public GaleraTest {
protected:
    std::filesystem::path journal(std::uint64_t child) const {
        return journals_ / std::to_string(child);
    }

    // Where a child works that knows one node only.
    static int node_of(std::uint64_t child) { return 1 + static_cast<int>(child % node_count); }

    std::vector<std::string> arguments(const char* mode, std::uint64_t child) const {
        return {mode, child == roaming_child ? url_of_all() : url(node_of(child)),
                journal(child).string(), std::to_string(4200 + child), "60"};
    }

    // How many commits a child has had confirmed; of the one that roams, how many deliveries.
    std::size_t confirmed(std::uint64_t child) const {
        return lines_with(journal(child), child == roaming_child ? "settled done " : "kept ");
    }

    // Whether everyone but those who know only the node `down` gets something done from now on.
    bool work_goes_on(int down) const {
        std::vector<std::size_t> before;
        for (std::uint64_t child = 0; child < child_count; ++child)
            before.push_back(confirmed(child));
        return wait_until(
            [&] {
                for (std::uint64_t child = 0; child < child_count; ++child) {
                    if (child != roaming_child && node_of(child) == down) continue;
                    if (confirmed(child) <= before[child]) return false;
                }
                return true;
            },
            60s, 100ms);
    }

    History drain() {
        ChildProcess child(
            {.program = program_path("queue_child"), .arguments = arguments("drain", 1000)});
        const std::optional<ExitStatus> end = child.wait(120s);
        if (!end || !end->success()) throw std::runtime_error("the queue could not be drained");
        return History(journals_.path());
    }

private:
    TempDir journals_;
};

TEST_F(GaleraNodeKillTest, AKilledNodeComesBackAndNothingIsLost) {
    constexpr int none = 0;
    database(1).sql("CREATE TABLE business_order (id varchar(64) PRIMARY KEY)");
    Pack children("queue_child", child_count, 42,
                  [&](std::uint64_t child) { return arguments("both", child); });
    ASSERT_TRUE(work_goes_on(none));
    const std::uint64_t kills = scaled(20, 2);
    for (std::uint64_t i = 0; i < kills && !HasFailure(); ++i) {
        // The one that founded the cluster is no other than the rest.
        const int victim = node_count - static_cast<int>(2 * i % node_count);
        cluster().crash(victim);
        EXPECT_TRUE(work_goes_on(victim)) << "without node " << victim;
        cluster().resume(victim);
        EXPECT_TRUE(work_goes_on(none)) << "with node " << victim << " again";
    }
    children.kill_all();
    for (int node = 1; node <= node_count; ++node) database(node).await_end_of_killed();
    const History history = drain();

    NodeDatabase last = database(2);
    expect_promises_kept(fmt::format("{} kills of nodes", kills), history, last, true);
    expect_the_same_everywhere();
    EXPECT_GT(history.confirmed(), 100U);
    EXPECT_FALSE(history.errors().empty()) << "no child noticed a kill";
    fmt::print("{} calls failed meanwhile, for example: {}\n", history.errors().size(),
               history.errors().empty() ? "" : history.errors().back());
}

}  // namespace
}  // namespace postroom::test
