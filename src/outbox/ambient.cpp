#include "postroom/ambient.hpp"

#include <utility>

namespace postroom {

namespace {

thread_local TxContext* innermost = nullptr;

}  // namespace

AmbientTransaction::AmbientTransaction(TxContext& tx) : outer_(std::exchange(innermost, &tx)) {}

AmbientTransaction::~AmbientTransaction() { innermost = outer_; }

TxContext* AmbientTransaction::current() { return innermost; }

}  // namespace postroom
