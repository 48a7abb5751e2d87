// How MariaDB runs a claim: along its indexes, in their order, and no further than the batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"

namespace postroom::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

class MariadbPlan : public testing::TestWithParam<Queue> {
protected:
    void SetUp() override { mysql::open_schema(database_.url())->deploy(); }

    std::string queue() const { return std::string(to_string(GetParam())); }
    std::string table(const std::string& suffix) const { return queue() + "_" + suffix; }

    // The choices in the text of the installed procedures, with variables put in.
    std::vector<std::string> choices() {
        std::vector<std::string> out;
        for (const char* procedure : {"_lease_bands", "_lease_urgent", "_lease_lane",
                                      "_lease_fresh", "_take_back", "_take_born", "_line_up"}) {
            const std::string body = session_.value(
                "SELECT ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE "
                "ROUTINE_SCHEMA = DATABASE() AND ROUTINE_NAME = '" +
                queue() + procedure + "'");
            static const std::regex walk(
                R"(SELECT (?:m|c|l)\.seq[^;()]*?FROM `[a-z_]+` AS [a-z] FORCE INDEX[^;]*?LIMIT \w+)");
            for (std::sregex_iterator at(body.begin(), body.end(), walk), end; at != end; ++at)
                out.push_back(with_values(at->str()));
        }
        return out;
    }

    static std::string with_values(std::string text) {
        for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
                 {R"(\b(v_until|v_at|in_at)\b)", "UTC_TIMESTAMP(6)"},
                 {R"(\b(in_lease_id|v_from|v_after|in_lane)\b)", "1"},
                 {R"(\bin_to\b)", "100000000"},
                 {R"(\bin_owner\b)", "''"},
                 {R"(\b(v_room|v_share|in_ceiling|v_passed|in_looks)\b)", "10"}})
            text = std::regex_replace(text, std::regex(name), value);
        return text;
    }

    // Of each choice, what EXPLAIN says about the table that is walked.
    std::vector<std::string> walks() {
        std::vector<std::string> out;
        for (const std::string& choice : choices()) {
            const auto rows = session_.run("EXPLAIN " + choice);
            for (const auto& row : rows) {
                std::string line;
                for (const auto& cell : row) line += cell.value_or("-") + " | ";
                out.push_back(line + choice);
            }
        }
        return out;
    }

    // Rows that a claim must not even look at: deferred, dead, and due ones behind another.
    void park(int count) {
        const std::string n = std::to_string(count);
        const std::string columns = table("waiting") +
                                    " (seq, nonce, state, priority, available_at, created_at, "
                                    "message_id, topic, source, payload, ordering_key, behind) ";
        session_.run(
            "INSERT INTO " + columns +
            "SELECT 1000000 + seq, seq, IF(seq % 3 = 0, 3, 0), CAST(seq AS SIGNED) % 2 - 1, IF(seq "
            "% 3 = 0, "
            "'2000-01-01', '2999-01-01'), '2000-01-01', 'parked', 'parked', 's', '', NULL, "
            "0 FROM seq_1_to_" +
            n);
        session_.run("INSERT INTO " + columns +
                     "SELECT 2000000 + seq, seq, IF(seq = 1, 3, 0), 0, '2000-01-01', '2000-01-01', "
                     "'line', 'line', 's', '', 'blocked', seq > 1 FROM seq_1_to_" +
                     n);
    }

    void add_live(int count) {
        session_.run("INSERT INTO " + table("live") +
                     " (topic, payload, source, priority) SELECT 'live', '', " +
                     (GetParam() == Queue::inbox ? "'s'" : "NULL") + ", seq % 2 FROM seq_1_to_" +
                     std::to_string(count));
    }

    // Rows that one claim of ten reads, by the engine's own count.
    long rows_read(long lease_id) {
        const long before = rows_read_so_far();
        session_.run("CALL " + table("lease_batch") + "(x'00', " + std::to_string(lease_id) +
                     ", 60000000, 10, 10, 3, 5, 0, 10, @taken)");
        const long after = rows_read_so_far();
        EXPECT_EQ(session_.value("SELECT COUNT(*) FROM " + table("lease") +
                                 " WHERE lease_id = " + std::to_string(lease_id)),
                  "10");
        return after - before;
    }

    long rows_read_so_far() {
        long read = 0;
        for (const auto& row : session_.run("SHOW SESSION STATUS LIKE 'Handler_read%'"))
            read += std::stol(row.at(1).value());
        return read;
    }

    MariadbDatabase database_;
    NativeSession session_{database_.url()};
};

constexpr int parked_count = 20'000;

// Goal: no choice of a claim reads a table from end to end or sorts it.
// Method: ask for the plans, with tables empty and full, with and without statistics.
TEST_P(MariadbPlan, AClaimNeitherScansNorSorts) {
    const auto expect_ranges_only = [this] {
        const std::vector<std::string> lines = walks();
        EXPECT_GE(lines.size(), 11U);
        EXPECT_THAT(lines, Each(Not(HasSubstr("filesort"))));
        EXPECT_THAT(lines, Each(Not(HasSubstr("| ALL |"))));
        EXPECT_THAT(lines, Each(Not(HasSubstr("| index |"))));
    };
    EXPECT_GE(choices().size(), 6U);
    expect_ranges_only();
    park(parked_count);
    add_live(parked_count);
    expect_ranges_only();
    session_.run("ANALYZE TABLE " + table("live") + ", " + table("waiting") + ", " +
                 table("lease"));
    expect_ranges_only();
}

// Goal: parked rows cost a claim nothing, and neither does a long queue.
TEST_P(MariadbPlan, TheWorkOfAClaimDoesNotGrowWithTheTables) {
    add_live(100);
    park(10);
    const long beside_few = rows_read(1);
    add_live(parked_count);
    session_.run("DELETE FROM " + table("waiting"));
    park(parked_count);
    const long beside_many = rows_read(2);
    // The leases of the first claim are stepped over.
    EXPECT_LT(beside_many, beside_few + 200);
}

INSTANTIATE_TEST_SUITE_P(Queues, MariadbPlan, testing::Values(Queue::outbox, Queue::inbox),
                         [](const auto& queue) { return std::string(to_string(queue.param)); });

}  // namespace
}  // namespace postroom::test
