// Floor: what a good programmer writes by hand against the driver, without a library.
//
// One table of messages with the usual columns and indexes (random id, partial or composite index
// on what is ready, claim by UPDATE, ack by DELETE), one of accounts as the business, one of
// received messages. Statements are prepared, parameters binary where the driver can.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "postroom/transaction.hpp"

namespace bench {

inline constexpr int account_count = 64;

// One connection, used by one thread. Any error is a std::runtime_error.
class FloorConnection {
public:
    FloorConnection() = default;
    FloorConnection(const FloorConnection&) = delete;
    FloorConnection& operator=(const FloorConnection&) = delete;
    virtual ~FloorConnection() = default;

    // The parts of a business transaction.
    virtual void begin() = 0;
    virtual void update_account(int account) = 0;
    virtual void insert() = 0;  // outside of a transaction it commits by itself
    virtual void commit() = 0;
    // insert() and commit() in one round trip, where the driver can.
    virtual void insert_and_commit() {
        insert();
        commit();
    }

    // `count` messages in one transaction of their own, in one of Floor::bulk_ways().
    virtual void insert_many(std::size_t count, const std::string& way) = 0;

    // From now on drains leave the database no choice of plans, where Floor::pins() says so.
    virtual void pin_plans() {}

    // Claims up to `batch` messages and deletes them: two transactions. Returns how many.
    virtual std::size_t drain(std::size_t batch) = 0;
    // How long the claim of the last drain() took, in seconds.
    virtual double last_claim() const = 0;

    // Received messages with new ids, deduplicated; then claimed and marked done.
    virtual void receive(std::size_t count) = 0;
    virtual std::size_t process(std::size_t batch) = 0;

    // The connection of the floor, for Outbox::enqueue().
    virtual std::unique_ptr<postroom::TxContext> borrow(postroom::BorrowOptions options) = 0;
};

class Floor {
public:
    Floor() = default;
    Floor(const Floor&) = delete;
    Floor& operator=(const Floor&) = delete;
    virtual ~Floor() = default;

    // The connection of that thread, opened once: what it learns in one sample it knows in the
    // next, as those of a pool do.
    std::shared_ptr<FloorConnection> connection(int thread);

    virtual std::unique_ptr<FloorConnection> connect() = 0;
    // The fastest first.
    virtual std::vector<std::string> bulk_ways() const = 0;
    virtual bool pipelines() const { return false; }
    // Whether pinned plans are worth a measurement of their own.
    virtual bool pins() const { return false; }
    // The UPDATE of update_account() with one parameter, for Transaction::execute().
    virtual std::string update_sql() const = 0;

private:
    std::mutex mutex_;
    std::map<int, std::shared_ptr<FloorConnection>> connections_;  // under mutex_
};

}  // namespace bench
