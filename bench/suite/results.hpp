// What a run of the bench found: samples, kept in groups of things that were measured in turn.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

// The names of what is measured. They stand in results.json and never change their meaning.
namespace metric {
inline constexpr const char* rate = "messages_per_second";
inline constexpr const char* client_cpu = "client_cpu_us_per_message";
inline constexpr const char* server_cpu = "server_cpu_us_per_message";
inline constexpr const char* cpu = "cpu_us_per_message";  // both together
inline constexpr const char* log_bytes = "log_bytes_per_message";
inline constexpr const char* p50_us = "latency_p50_us";
inline constexpr const char* p99_us = "latency_p99_us";
inline constexpr const char* idle_percent = "idle_percent_of_a_core";
inline constexpr const char* claim_start_ms = "claim_p50_start_ms";
inline constexpr const char* claim_end_ms = "claim_p50_end_ms";
inline constexpr const char* claim_growth = "claim_p50_end_to_start";
inline constexpr const char* busy_percent = "busy_percent_of_a_core";
inline constexpr const char* table_mib = "table_size_mib";
inline constexpr const char* rss_mib = "peak_rss_mib";
inline constexpr const char* wait_start_ms = "mean_wait_start_ms";
inline constexpr const char* wait_end_ms = "mean_wait_end_ms";
inline constexpr const char* waiting_end = "waiting_at_end";
inline constexpr const char* delivered_percent = "delivered_percent";
}  // namespace metric

// One measurement: a value for each metric that it has.
using Sample = std::map<std::string, double>;

enum class Role {
    floor,  // written by hand against the driver
    ours,
    peer,  // what one would use instead
};

const char* to_string(Role role);
Role role_from(std::string_view text);

struct Series {
    std::string name{};
    Role role = Role::ours;
    std::vector<Sample> samples{};  // one for each repetition
};

struct Group {
    std::string question{};
    std::string engine{};
    std::string setting{};
    std::string reference{};  // the series that the others are compared with; empty: none
    std::vector<Series> series{};

    const Series* find(std::string_view name) const;
};

struct Spread {
    double median = 0;
    double low = 0;
    double high = 0;
};

// nullopt when no sample has the metric.
std::optional<Spread> spread(const Series& series, const std::string& name);

// Of `series` to the group's reference, repetition by repetition: what disturbs the machine for a
// while disturbs both.
std::optional<Spread> ratio(const Series& series, const Series& reference, const std::string& name);

struct Results {
    std::string mode{};                          // quick, full, or custom
    std::map<std::string, std::string> about{};  // the machine, the versions, the settings
    std::vector<Group> groups{};

    const Group* find(std::string_view question, std::string_view engine,
                      std::string_view setting) const;
};

// Whether the peers were measured, too.
bool has_peers(const Results& results);

}  // namespace bench
