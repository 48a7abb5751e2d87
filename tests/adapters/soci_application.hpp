// SociApplication: a program that reaches its database through SOCI.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "adapters/application.hpp"
#include "postroom/adapter/soci.hpp"

namespace postroom::test {

// Database: what has store(), orders() and stands for a database with the program's table.
template <class Database>
class SociApplication final : public Application {
public:
    // `connect` gives the words for soci::session: backend, then parameters.
    using Connect = std::pair<std::string, std::string> (*)(const Database&);

    explicit SociApplication(Connect connect)
        : session_(connect(database_).first, connect(database_).second) {}

    Store& store() override { return database_.store(); }
    void begin() override { transaction_.emplace(session_); }
    void commit() override { transaction_->commit(); }
    void rollback() override { transaction_->rollback(); }
    void place_order(const std::string& name) override {
        session_ << "INSERT INTO orders VALUES (:name)", soci::use(name);
    }
    TxContext& context() override { return context_; }
    std::size_t orders() override { return database_.orders(); }

private:
    Database database_;
    soci::session session_;
    std::optional<soci::transaction> transaction_;
    adapter::SociContext context_{session_};
};

}  // namespace postroom::test
