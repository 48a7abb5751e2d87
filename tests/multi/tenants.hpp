// Tenants: databases on several engines for one test, and what became of their messages.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "postroom/dispatcher.hpp"
#include "postroom/outbox.hpp"
#include "postroom/tenancy.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {

// What happened where: "store:payload", in order.
class Journal {
public:
    void note(std::string_view store, const std::string& payload) {
        const std::lock_guard lock(mutex_);
        entries_.push_back(std::string(store) + ":" + payload);
        ++by_store_[std::string(store)];
    }
    std::vector<std::string> entries() const {
        const std::lock_guard lock(mutex_);
        return entries_;
    }
    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return entries_.size();
    }
    std::size_t of(const std::string& store) const {
        const std::lock_guard lock(mutex_);
        const auto at = by_store_.find(store);
        return at == by_store_.end() ? 0 : at->second;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> entries_;
    std::map<std::string, std::size_t> by_store_;
};

// Keeps the stores and operations that it heard of.
class Ear final : public Observer {
public:
    struct Heard {
        EventKind kind{};
        std::string store{};
        std::string operation{};
        std::string error{};
    };
    void observe(const Event& event) noexcept override {
        const std::lock_guard lock(mutex_);
        heard_.push_back({.kind = event.kind,
                          .store = std::string(event.store),
                          .operation = std::string(event.operation),
                          .error = std::string(event.error)});
    }
    std::vector<Heard> heard() const {
        const std::lock_guard lock(mutex_);
        return heard_;
    }
    std::size_t count(EventKind kind, const std::string& store,
                      const std::string& operation = {}) const {
        std::size_t count = 0;
        for (const Heard& one : heard())
            if (one.kind == kind && one.store == store &&
                (operation.empty() || one.operation == operation))
                ++count;
        return count;
    }

private:
    mutable std::mutex mutex_;
    std::vector<Heard> heard_;
};

// A list that the test changes.
class ListDiscovery final : public DatabaseDiscovery {
public:
    std::vector<DiscoveredDatabase> discover(std::stop_token) override {
        const std::lock_guard lock(mutex_);
        ++calls_;
        if (!error_.empty()) throw std::runtime_error(error_);
        return databases_;
    }
    void set(std::vector<DiscoveredDatabase> databases) {
        const std::lock_guard lock(mutex_);
        databases_ = std::move(databases);
    }
    void fail(std::string error) {
        const std::lock_guard lock(mutex_);
        error_ = std::move(error);
    }
    int calls() const {
        const std::lock_guard lock(mutex_);
        return calls_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<DiscoveredDatabase> databases_;
    std::string error_;
    int calls_ = 0;
};

inline NewMessage message(const std::string& payload, const std::string& topic = "t") {
    NewMessage out;
    out.topic = TopicName(topic);
    out.payload = payload;
    return out;
}

class Tenants : public testing::Test {
protected:
    static constexpr std::chrono::seconds patience{90};

    DiscoveredDatabase sqlite(const std::string& id) {
        return {.id = id,
                .url = "sqlite:" + (directory / (id + ".db")).string(),
                .options = {.deploy_schema = true}};
    }
    DiscoveredDatabase postgres(const std::string& id) {
        servers.push_back(std::make_unique<PostgresDatabase>());
        return {.id = id, .url = servers.back()->url(), .options = {.deploy_schema = true}};
    }
    DiscoveredDatabase mariadb(const std::string& id, const std::string& server = "mariadb") {
        mariadbs.push_back(
            std::make_unique<MariadbDatabase>(MariadbServer(servers_directory(), server)));
        return {.id = id, .url = mariadbs.back()->url(), .options = {.deploy_schema = true}};
    }
    static StorePtr open(const DiscoveredDatabase& database) {
        OpenOptions options = database.options;
        options.store_id = database.id;
        return open_store(database.url, options);
    }
    // One of each engine, and for MariaDB's place `server`. The tests on MySQL have no PostgreSQL
    // beside them: two of the three are MySQL's there.
    std::vector<StorePtr> three(const std::string& server = "mariadb") {
        const DiscoveredDatabase south =
            server == "mysql" ? mariadb("south", server) : postgres("south");
        return {open(sqlite("north")), open(south), open(mariadb("west", server))};
    }

    DispatcherOptions quick() {
        return {
            .lease = std::chrono::seconds{20},
            .retry = {.base = std::chrono::milliseconds{10}, .cap = std::chrono::milliseconds{50}},
            .poll_interval_max = std::chrono::milliseconds{100},
            .observer = &ear};
    }
    void handle(Dispatcher& dispatcher) {
        dispatcher.on("t", [this](const Message& m, HandlerContext& context) {
            journal.note(context.store(), m.payload);
        });
    }
    template <class Holds>
    static bool eventually(const Holds& holds) {
        return wait_until(holds, std::chrono::duration_cast<std::chrono::milliseconds>(patience));
    }

    TempDir directory;
    std::vector<std::unique_ptr<PostgresDatabase>> servers;
    std::vector<std::unique_ptr<MariadbDatabase>> mariadbs;
    Journal journal;
    Ear ear;
};

}  // namespace postroom::test
