// Application: somebody's program with a table of its own, a database library of its own choice,
// and an outbox beside the table. The laws in join_test.cpp hold for every such program.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "postroom/message.hpp"
#include "postroom/store.hpp"
#include "postroom/transaction.hpp"

namespace postroom::test {

class Application {
public:
    Application() = default;
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;
    virtual ~Application() = default;

    // The store that reads back; it has connections of its own.
    virtual Store& store() = 0;

    // The program's own transaction, through its own library.
    virtual void begin() = 0;
    virtual void commit() = 0;
    virtual void rollback() = 0;
    // Inserts a row into the program's table, in the open transaction.
    virtual void place_order(const std::string& name) = 0;

    // The adapter of the last transaction begun; without any, of the idle connection.
    virtual TxContext& context() = 0;

    // How many rows the program's table has for everybody else.
    virtual std::size_t orders() = 0;
};

inline NewMessage order_placed() {
    NewMessage message;
    message.topic = TopicName("order.placed");
    message.payload = "{}";
    return message;
}

struct Library {
    std::string name;
    std::function<std::unique_ptr<Application>()> start;
};

inline void PrintTo(const Library& library, std::ostream* out) { *out << library.name; }
inline std::string library_name(const testing::TestParamInfo<Library>& info) {
    return info.param.name;
}

class JoinedTransaction : public testing::TestWithParam<Library> {
protected:
    Application& app() { return *app_; }
    Store& store() { return app_->store(); }

private:
    const std::unique_ptr<Application> app_ = GetParam().start();
};

}  // namespace postroom::test
