// Enqueue in a libpqxx transaction.
//
//   pqxx::work work(connection);
//   work.exec("UPDATE orders SET ...");
//   postroom::adapter::PqxxContext tx(work);
//   outbox.enqueue(tx, message);
//   work.commit();
//
// PqxxContext runs our statements in your transaction and nothing else. PqxxTransaction also ends
// it for you, and so can tell others how it ended (after_commit, after_rollback). Both take any
// libpqxx transaction that is one: work, robusttransaction, subtransaction; a nontransaction is
// refused.
//
// What libpqxx throws arrives as postroom::Error with the original nested in it
// (std::rethrow_if_nested). Nothing of ours needs to be linked for this header; written for
// libpqxx 6.4.
//
// Thread safety: that of the libpqxx transaction, one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <pqxx/pqxx>

#include "postroom/detail/ending_transaction.hpp"
#include "postroom/detail/joined_context.hpp"
#include "postroom/error.hpp"
#include "postroom/transaction.hpp"

namespace postroom::adapter {

namespace detail {

inline ErrorKind pqxx_kind(const ::pqxx::sql_error& error) {
    const std::string_view state = error.sqlstate();
    if (state.starts_with("40") || state == "55P03") return ErrorKind::conflict;
    if (state.starts_with("08") || state.starts_with("53") || state.starts_with("57P")) {
        return ErrorKind::unavailable;
    }
    return ErrorKind::rejected;
}

// Call in a catch block: throws what is being handled as Error, with the original nested.
[[noreturn]] inline void rethrow_pqxx(const ::pqxx::connection_base& connection) {
    const auto fail = [](ErrorKind kind, const std::exception& cause) {
        // The first line only: the details of a constraint quote the row.
        const std::string text = cause.what();
        std::throw_with_nested(Error(kind, "libpqxx: " + text.substr(0, text.find('\n'))));
    };
    try {
        throw;
    } catch (const ::pqxx::in_doubt_error& e) {
        fail(ErrorKind::outcome_unknown, e);
    } catch (const ::pqxx::statement_completion_unknown& e) {
        fail(ErrorKind::outcome_unknown, e);
    } catch (const ::pqxx::broken_connection& e) {
        fail(ErrorKind::unavailable, e);
    } catch (const ::pqxx::transaction_rollback& e) {
        fail(ErrorKind::conflict, e);
    } catch (const ::pqxx::sql_error& e) {
        fail(connection.is_open() ? pqxx_kind(e) : ErrorKind::unavailable, e);
    } catch (const ::pqxx::usage_error& e) {
        fail(ErrorKind::misuse, e);
    } catch (const ::pqxx::failure& e) {
        fail(connection.is_open() ? ErrorKind::rejected : ErrorKind::unavailable, e);
    }
    std::terminate();  // not reached: everything else passed through `throw`
}

// Parameters in the form that libpqxx takes: C strings, nullptr for NULL, and bytes.
class PqxxStatement {
public:
    explicit PqxxStatement(const SqlStatement& statement) : statement_(statement) {
        texts_.reserve(statement.params.size());
        for (const SqlValue& value : statement.params) {
            const auto* const number = std::get_if<std::int64_t>(&value);
            texts_.push_back(number == nullptr ? std::string{} : std::to_string(*number));
        }
        for (std::size_t i = 0; i < texts_.size(); ++i) cells_.push_back(cell(i));
    }

    ::pqxx::result run(::pqxx::transaction_base& work) const { return run_from(work, 0); }

private:
    // A list of parameters made at run time is of one type, so bytes stand between such lists, up
    // to this many; statements of ours have two.
    static constexpr std::size_t binaries_max = 4;

    const char* cell(std::size_t i) const {
        const SqlValue& value = statement_.params[i];
        if (std::holds_alternative<std::monostate>(value)) return nullptr;
        const auto* const text = std::get_if<std::string>(&value);
        return text == nullptr ? texts_[i].c_str() : text->c_str();
    }

    template <class... Before>
    ::pqxx::result run_from(::pqxx::transaction_base& work, std::size_t from,
                            const Before&... before) const {
        std::size_t at = from;
        while (at < cells_.size() && !std::holds_alternative<Blob>(statement_.params[at])) ++at;
        const auto texts =
            ::pqxx::prepare::make_dynamic_params(cells_.data() + from, cells_.data() + at);
        if (at == cells_.size()) return work.exec_params(statement_.sql, before..., texts);
        if constexpr (sizeof...(Before) < 2 * binaries_max) {
            const std::string& bytes = std::get<Blob>(statement_.params[at]).bytes;
            const ::pqxx::binarystring binary(bytes.data(), bytes.size());
            return run_from(work, at + 1, before..., texts, binary);
        }
        throw Error(ErrorKind::misuse, "too many binary parameters in one statement");
    }

    const SqlStatement& statement_;
    std::vector<std::string> texts_{};
    std::vector<const char*> cells_{};
};

inline SqlRows pqxx_rows(const ::pqxx::result& result) {
    SqlRows rows;
    rows.reserve(result.size());
    for (const auto& row : result) {
        auto& cells = rows.emplace_back();
        for (const auto& field : row) {
            cells.push_back(field.is_null() ? std::nullopt
                                            : std::optional<std::string>(
                                                  std::in_place, field.c_str(), field.size()));
        }
    }
    return rows;
}

// Whether a transaction is open on the connection of `work`. libpqxx does not say, and
// exec_params() of an ended transaction runs outside of any; but it lets nobody begin where a
// transaction is open. Costs no round trip.
inline bool pqxx_in_transaction(::pqxx::transaction_base& work) {
    if (dynamic_cast<const ::pqxx::nontransaction*>(&work) != nullptr) return false;
    try {
        const ::pqxx::nontransaction probe(work.conn());
        return false;
    } catch (const ::pqxx::usage_error&) {
        return true;
    }
}

inline SqlRows pqxx_execute(::pqxx::transaction_base& work, const SqlStatement& statement) {
    if (!pqxx_in_transaction(work)) {
        throw Error(ErrorKind::misuse, "libpqxx: the transaction has ended or is none");
    }
    try {
        // A subtransaction sets its savepoint with its first exec(); exec_params() would go before
        // that.
        if (dynamic_cast<const ::pqxx::subtransaction*>(&work) != nullptr) work.exec("SELECT 1");
        return pqxx_rows(PqxxStatement(statement).run(work));
    } catch (const ::pqxx::pqxx_exception&) {
        rethrow_pqxx(work.conn());
    }
}

}  // namespace detail

// Joins `work`, which must outlive this object. You commit or abort `work`; nobody tells us, so
// after_commit() and after_rollback() throw Error{misuse}.
class PqxxContext final : public JoinedContext {
public:
    explicit PqxxContext(::pqxx::transaction_base& work)
        : JoinedContext("PqxxTransaction"), work_(work) {}

    bool in_transaction() const override { return detail::pqxx_in_transaction(work_); }
    SqlRows execute(const SqlStatement& statement) override {
        return detail::pqxx_execute(work_, statement);
    }

private:
    ::pqxx::transaction_base& work_;
};

// Joins `work` and ends it: commit() and rollback() of this object are those of `work`, and the
// destructor aborts a `work` that was not committed. Do not end `work` yourself. `work` must
// outlive this object.
class PqxxTransaction final : public EndingTransaction {
public:
    explicit PqxxTransaction(::pqxx::transaction_base& work) : work_(work) {}
    ~PqxxTransaction() override { rollback_quietly(); }

    bool in_transaction() const override {
        return EndingTransaction::in_transaction() && detail::pqxx_in_transaction(work_);
    }
    SqlRows execute(const SqlStatement& statement) override {
        require_open("execute");
        return detail::pqxx_execute(work_, statement);
    }

private:
    void do_commit() override {
        try {
            // The server answers COMMIT of a failed transaction with a rollback. libpqxx takes that
            // for success when the statement that failed had parameters; any further statement
            // tells.
            work_.exec("SELECT 1");
            work_.commit();
        } catch (const ::pqxx::pqxx_exception&) {
            detail::rethrow_pqxx(work_.conn());
        }
    }
    void do_rollback() override {
        try {
            work_.abort();
        } catch (const ::pqxx::pqxx_exception&) {
            detail::rethrow_pqxx(work_.conn());
        }
    }

    ::pqxx::transaction_base& work_;
};

}  // namespace postroom::adapter
