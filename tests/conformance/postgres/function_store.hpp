// FunctionStore: a RoutineStore on PostgreSQL, by the functions infra.outbox_* and infra.inbox_*.
#pragma once

#include "conformance/routine_store.hpp"

namespace postroom::test {

class FunctionStore final : public RoutineStore {
public:
    using RoutineStore::RoutineStore;

protected:
    SqlRows call(TxContext& tx, Queue queue, std::string_view verb,
                 const Arguments& arguments) override;
    EnqueueResult enqueue_one(TxContext& tx, const NewMessage& message) override;
    WorkItemId receive_one(TxContext& tx, const ReceivedMessage& message, bool revive) override;
    std::string parameter(int number, Argument::Type type) const override;
    std::string hex(const std::string& column) const override;
    std::string abandoned_rows(Queue queue) const override;
    std::string inbox_rows() const override;
    std::string inbox_state() const override;
};

}  // namespace postroom::test
