// ProcedureStore: a RoutineStore on MariaDB and MySQL, by the procedures outbox_* and inbox_*.
//
// A call that belongs to no transaction is made on a session as another language has it: in
// autocommit, with the isolation level of the server.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "conformance/mysql/session.hpp"
#include "conformance/routine_store.hpp"

namespace postroom::test {

class ProcedureStore final : public RoutineStore {
public:
    // `inner` must outlive this object; `url` leads to the same database.
    ProcedureStore(Store& inner, std::string url);

protected:
    SqlRows call(TxContext& tx, Queue queue, std::string_view verb,
                 const Arguments& arguments) override;
    EnqueueResult enqueue_one(TxContext& tx, const NewMessage& message) override;
    WorkItemId receive_one(TxContext& tx, const ReceivedMessage& message, bool revive) override;
    void alone(const Act& act) override;
    std::string parameter(int number, Argument::Type type) const override;
    std::string hex(const std::string& column) const override;
    std::string abandoned_rows(Queue queue) const override;
    std::string inbox_rows() const override;
    std::string inbox_state() const override;

private:
    std::unique_ptr<NativeSession> take_session();

    const std::string url_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<NativeSession>> idle_;  // guarded by mutex_
};

}  // namespace postroom::test
