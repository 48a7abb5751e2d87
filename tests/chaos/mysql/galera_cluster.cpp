#include "chaos/mysql/galera_cluster.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "support/server_script.hpp"

namespace postroom::test {

GaleraCluster::GaleraCluster() {
    // What a failed start leaves behind, the script removes itself.
    run_script("start", {std::to_string(::getpid())});
}

GaleraCluster::~GaleraCluster() {
    try {
        run_script("stop");
    } catch (const std::exception& error) {
        std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
    }
}

MariadbServer GaleraCluster::node(int number) const {
    return MariadbServer(directory_ / "galera", fmt::format("node{}", number));
}

void GaleraCluster::crash(int number) { run_script("crash", {std::to_string(number)}); }

void GaleraCluster::resume(int number) { run_script("resume", {std::to_string(number)}); }

std::uint64_t GaleraCluster::lost_conflicts() const {
    std::uint64_t lost = 0;
    for (int number = 1; number <= node_count; ++number)
        for (const auto& row :
             mariadb_sql(node(number).root_url(),
                         "SHOW GLOBAL STATUS WHERE variable_name IN "
                         "('wsrep_local_cert_failures', 'wsrep_local_bf_aborts')"))
            lost += std::stoull(row.at(1).value());
    return lost;
}

void GaleraCluster::run_script(const std::string& action, const std::vector<std::string>& further) {
    std::vector<std::string> arguments{action, (directory_ / "galera").string()};
    arguments.insert(arguments.end(), further.begin(), further.end());
    run_server_script("galera.sh", arguments);
}

namespace {

std::vector<std::string> table_names(NodeDatabase& database) {
    std::vector<std::string> names;
    for (const auto& row : database.sql("SHOW FULL TABLES WHERE table_type = 'BASE TABLE'"))
        names.push_back(row.at(0).value());
    return names;
}

}  // namespace

std::vector<std::string> NodeDatabase::damage() {
    std::vector<std::string> lines;
    for (const std::string& name : table_names(*this))
        for (std::string& line : complaints_about(*this, name)) lines.push_back(std::move(line));
    return lines;
}

std::vector<std::string> NodeDatabase::fingerprint() {
    std::vector<std::string> lines;
    for (const std::string& name : table_names(*this)) {
        const auto row = sql(fmt::format("CHECKSUM TABLE `{}` EXTENDED", name)).at(0);
        const std::uint64_t rows = count(fmt::format("SELECT count(*) FROM `{}`", name));
        lines.push_back(fmt::format("{}: {} rows, {}", name, rows, row.at(1).value_or("damaged")));
    }
    return lines;
}

}  // namespace postroom::test
