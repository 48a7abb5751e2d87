#include "chaos/postgres/failover_run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <future>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "postroom/error.hpp"
#include "postroom/open_store.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {

using namespace std::chrono_literals;
using testing::IsEmpty;

namespace {

constexpr int writer_count = 3;
constexpr int relay_count = 2;
// Messages with an ordering key rest for that long after a fail-over, which forgets who has them.
constexpr auto failover_lease = 3s;
// What the standbys of an asynchronous cluster lack when its leader is killed.
constexpr auto failover_lag = 700ms;
constexpr auto failover_patience = 120s;
constexpr const char* writer_name = "keyed_child";  // as the server knows them

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
}

std::string median_and_most(std::vector<double> values) {
    if (values.empty()) return "none";
    std::sort(values.begin(), values.end());
    return fmt::format("{:.2f} s, at most {:.2f} s", values[(values.size() - 1) / 2],
                       values.back());
}

std::set<std::string> ids_of(const torture::Stored& stored) {
    std::set<std::string> ids;
    for (const auto& [id, states] : stored.states) ids.insert(id);
    return ids;
}

}  // namespace

FailoverRun::FailoverRun(PatroniCluster::Mode mode)
    : mode_(mode),
      cluster_(mode),
      database_(cluster_, "shop"),
      ledger_(folder_ / "ledger"),
      probes_(journals_ / "probes") {
    open_schema(database_.url())->deploy();
    database_.sql("CREATE TABLE business_order (id text PRIMARY KEY)");
    store_ = open_store(database_.url(), {.pool_max = 2});
    start_relays();
    start_writers();
}

// One of them delivers what it writes.
void FailoverRun::start_writers() {
    for (int i = 0; i < writer_count; ++i) {
        const std::string ledger = i == 0 ? (folder_ / "ledger").string() : "-";
        writers_.emplace_back(ChildOptions{
            .program = program_path("keyed_child"),
            .arguments = {database_.url(), (journals_ / std::to_string(i)).string(), ledger,
                          std::to_string(i + 1), std::to_string(failover_lease / 1ms)},
            .environment = {{"PGAPPNAME", writer_name}}});
    }
}

void FailoverRun::start_relays() {
    std::ofstream(folder_ / "postroom.toml")
        << fmt::format(R"([relay]
lease = "{}ms"
poll_interval_max = "200ms"
retention = "0s"

[log]
level = "warning"

[sinks.ledger]
type = "stdout"
path = "{}"
)",
                       failover_lease / 1ms, (folder_ / "ledger").string());
    for (int i = 0; i < relay_count; ++i)
        relays_.emplace_back(
            ChildOptions{.program = "/bin/sh",
                         .arguments = {"-c",
                                       "unset POSTROOM_TEST_SCALE POSTROOM_TEST_SERVERS; cd \"$0\" "
                                       "&& exec \"$1\" relay 2>>err",
                                       folder_.path().string(), program_path("postroom").string()},
                         .environment = {{"POSTROOM_URL", database_.url()},
                                         {"POSTROOM_ADMIN__LISTEN", "127.0.0.1:0"}}});
}

void FailoverRun::await_load() {
    cluster_.await_whole();
    const std::size_t before = ledger_.read().size();
    ASSERT_TRUE(
        wait_until([&] { return ledger_.read().size() > before + 50; }, failover_patience, 20ms))
        << "nothing arrives";
}

void FailoverRun::await_new_leader(int old) {
    ASSERT_TRUE(wait_until(
        [&] {
            const std::optional<int> leader = cluster_.leader();
            return leader && *leader != old;
        },
        failover_patience, 20ms))
        << "nobody took over";
}

void FailoverRun::kill_leader() {
    await_load();
    const int old = cluster_.leader().value();
    cluster_.crash(old, mode_ == PatroniCluster::Mode::asynchronous ? failover_lag : 0ms);
    const auto begin = SteadyClock::now();
    await_new_leader(old);
    leader_seconds_.push_back(seconds_between(begin, SteadyClock::now()));
    await_delivery();
    cluster_.resume(old);
    ++kills_;
}

void FailoverRun::switch_over() {
    await_load();
    const int old = cluster_.leader().value();
    const auto begin = SteadyClock::now();
    // The script returns when Patroni has told everybody, which is later than the leader writes.
    std::future<void> told = std::async(std::launch::async, [&] { cluster_.switch_over(); });
    await_new_leader(old);
    leader_seconds_.push_back(seconds_between(begin, SteadyClock::now()));
    await_delivery();
    told.get();
    ++switchovers_;
}

std::string FailoverRun::write_probe() {
    const Outbox outbox(*store_);
    const std::string id = fmt::format("probe-{}", probe_ids_.size());
    probe_ids_.push_back(id);
    probes_.write(fmt::format("plan commit {} plain {}\n", id, id));
    const NewMessage probe{.topic = "order.placed",
                           .payload = "-",
                           .content_type = "text/plain",
                           .message_id = MessageId(id)};
    const auto is_written = [&] {
        try {
            outbox.enqueue(probe);
            return true;
        } catch (const Error& error) {
            if (error.retryable() || error.kind() == ErrorKind::outcome_unknown) return false;
            throw;
        }
    };
    EXPECT_TRUE(wait_until(is_written, failover_patience, 20ms)) << "nobody takes a message";
    probes_.write(fmt::format("kept {}\n", id));
    return id;
}

void FailoverRun::await_delivery() {
    const auto begin = SteadyClock::now();
    std::map<std::string, std::uint64_t> newest;  // of each writer
    for (const Delivery& delivery : ledger_.read())
        newest[delivery.writer] = std::max(newest[delivery.writer], delivery.number);
    std::size_t seen = ledger_.read().size();
    const std::string probe = write_probe();
    bool probe_came = false;
    bool keyed_came = false;
    const auto look = [&] {
        for (const auto& deliveries = ledger_.read(); seen < deliveries.size(); ++seen) {
            const Delivery& delivery = deliveries[seen];
            const double took = seconds_between(begin, SteadyClock::now());
            if (!probe_came && delivery.message_id == probe) {
                probe_came = true;
                delivery_seconds_.push_back(took);
            }
            if (!keyed_came && !delivery.writer.empty() &&
                delivery.number > newest[delivery.writer]) {
                keyed_came = true;
                keyed_seconds_.push_back(took);
            }
        }
        return probe_came && keyed_came;
    };
    EXPECT_TRUE(wait_until(look, failover_patience, 5ms)) << "nothing arrives from the new leader";
}

void FailoverRun::finish() {
    await_load();
    end_writers();
    await_empty();
    end_relays();
    judge();
}

// The server may commit for them when they are gone, once a standby has what they wrote.
void FailoverRun::end_writers() {
    writers_.clear();
    const auto are_gone = [&] {
        return database_.count(fmt::format(
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{}'",
                   writer_name)) == 0;
    };
    EXPECT_TRUE(wait_until(are_gone, failover_patience, 20ms)) << "a writer's session stays";
}

// However long it takes on a busy machine to catch up with the writers: stuck is what no longer
// shrinks.
void FailoverRun::await_empty() {
    const auto left = [&] {
        const Counts counts = store_->counts(Queue::outbox);
        return counts.ready + counts.in_progress;
    };
    for (std::uint64_t before = left(); before > 0; before = left()) {
        const auto shrinks = [&] { return left() < before; };
        if (wait_until(shrinks, failover_patience, 50ms)) continue;
        ADD_FAILURE() << before << " messages are stuck";
        return;
    }
}

void FailoverRun::end_relays() {
    for (ChildProcess& relay : relays_) {
        EXPECT_TRUE(relay.running()) << "a relay ended by itself";
        relay.kill(SIGTERM);
        const std::optional<ExitStatus> ended = relay.wait(60s);
        EXPECT_TRUE(ended && ended->success()) << "a relay did not end well";
    }
    relays_.clear();
}

void FailoverRun::judge() {
    ledger_.read();
    ledger_.write_journal(journals_ / "ledger");
    const torture::Stored there = stored(database_);
    History history(journals_.path());
    if (mode_ == PatroniCluster::Mode::asynchronous) forgotten_ = history.forget_missing(there);
    EXPECT_THAT(history.broken_promises(database_), IsEmpty());
    EXPECT_THAT(broken_links(database_, "outbox"), IsEmpty());
    EXPECT_THAT(database_.damage(), IsEmpty());
    EXPECT_FALSE(history.errors().empty()) << "no writer noticed a fail-over";
    const DeliveryLedger::Order order = ledger_.order(ids_of(there));
    EXPECT_THAT(order.overtakings, IsEmpty());
    // What was acknowledged outlives the leader, and only then is the next of a key handed out.
    if (mode_ == PatroniCluster::Mode::synchronous) {
        EXPECT_EQ(order.steps_back, 0U);
    }
    count_reused_numbers();
    print_figures(history, order);
}

// Numbers of confirmed messages that another message has now.
void FailoverRun::count_reused_numbers() {
    std::map<std::string, std::string> owners;
    for (const auto& row : database_.sql(
             fmt::format("SELECT seq, message_id FROM {} UNION ALL SELECT seq, message_id FROM {}",
                         database_.table("outbox_waiting"), database_.table("outbox_done"))))
        owners[row.at(0).value()] = row.at(1).value();
    for (int i = 0; i < writer_count; ++i) {
        for (const std::string& line : torture::whole_lines(journals_ / std::to_string(i))) {
            if (!line.starts_with("kept ")) continue;
            std::istringstream words(line);
            for (std::string word; words >> word;) {
                const std::size_t equals = word.find('=');
                if (equals == std::string::npos) continue;
                const auto owner = owners.find(word.substr(equals + 1));
                numbers_reused_ += owner != owners.end() && owner->second != word.substr(0, equals);
            }
        }
    }
}

void FailoverRun::print_figures(const History& history, const DeliveryLedger::Order& order) {
    fmt::print(
        "{} fail-overs ({} kills, {} switchovers), {}: {} messages confirmed, {} lost, {} "
        "forgotten by the "
        "database, {} in doubt, {} delivered, {} of them again, {} out of order, {} steps back, {} "
        "numbers "
        "handed out twice\n",
        kills_ + switchovers_, kills_, switchovers_,
        mode_ == PatroniCluster::Mode::synchronous ? "synchronous" : "asynchronous",
        history.confirmed() + forgotten_, history.lost(database_), forgotten_, history.in_doubt(),
        ledger_.read().size(), ledger_.duplicates(), order.overtakings.size(), order.steps_back,
        numbers_reused_);
    fmt::print(
        "seconds lost, median and most: another leads after {}; a message written there arrives "
        "after {} "
        "more, the first with an ordering key after {}\n",
        median_and_most(leader_seconds_), median_and_most(delivery_seconds_),
        median_and_most(keyed_seconds_));
}

}  // namespace postroom::test
