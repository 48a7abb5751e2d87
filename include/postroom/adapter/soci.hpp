// Enqueue in the transaction of a SOCI session, on its SQLite and PostgreSQL backends.
//
//   soci::transaction transaction(session);
//   session << "UPDATE orders SET ...";
//   postroom::adapter::SociContext tx(session);
//   outbox.enqueue(tx, message);
//   transaction.commit();
//
// SociContext runs our statements in your transaction and nothing else. SociTransaction also ends
// it for you, and so can tell others how it ended (after_commit, after_rollback).
//
// What SOCI throws arrives as postroom::Error with the original nested in it
// (std::rethrow_if_nested). SOCI's own text names the values of the statement; ours does not.
// SOCI's error classes know no conflicts, so those are told by their English texts: with PostgreSQL
// messages in another language they arrive as `rejected`.
//
// Nothing of ours needs to be linked for this header; written for SOCI 4.0.
//
// Thread safety: that of the session, one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <soci/soci.h>

#include "postroom/detail/ending_transaction.hpp"
#include "postroom/detail/joined_context.hpp"
#include "postroom/error.hpp"
#include "postroom/transaction.hpp"

namespace postroom::adapter {

namespace detail {

inline bool soci_is_conflict(std::string_view text) {
    constexpr std::array<std::string_view, 5> signs{
        "database is locked", "database table is locked", "deadlock detected",
        "could not serialize access", "could not obtain lock"};
    for (const std::string_view sign : signs) {
        if (text.find(sign) != std::string_view::npos) return true;
    }
    return false;
}

inline ErrorKind soci_kind(const ::soci::session& session, const ::soci::soci_error& error) {
    const auto category = error.get_error_category();
    if (category == ::soci::soci_error::connection_error || !session.is_connected()) {
        return ErrorKind::unavailable;
    }
    return soci_is_conflict(error.get_error_message()) ? ErrorKind::conflict : ErrorKind::rejected;
}

// Call in a catch block. The text leaves out what SOCI adds to it, which are the statement and its
// values.
[[noreturn]] inline void rethrow_soci(const ::soci::session& session,
                                      const ::soci::soci_error& error) {
    // The first line only: the details of a constraint quote the row.
    const std::string text = error.get_error_message();
    std::throw_with_nested(
        Error(soci_kind(session, error), "SOCI: " + text.substr(0, text.find('\n'))));
}

// The statement with its values where SOCI can point at them. Values are bound by position, which
// is what the numbers of the engines' placeholders ($1, ?1) mean, so the text needs no change.
class SociStatement {
public:
    SociStatement(::soci::session& session, const SqlStatement& statement, bool sqlite)
        : session_(session), statement_(session), sqlite_(sqlite) {
        statement_.alloc();
        // Once: else PostgreSQL is asked to prepare and to forget the statement, in round trips of
        // their own.
        statement_.prepare(statement.sql, ::soci::details::st_one_time_query);
        for (const SqlValue& value : statement.params) {
            std::visit([this](const auto& v) { bind(v); }, value);
        }
    }

    SqlRows run() { return sqlite_ ? run_as_text() : run_described(); }

private:
    // Where a value is kept until the statement has run.
    struct Slot {
        ::soci::indicator indicator = ::soci::i_ok;
        long long number = 0;
        std::string text{};
        std::unique_ptr<::soci::blob> blob{};
    };

    void bind(std::monostate /*null*/) {
        Slot& slot = slots_.emplace_back();
        slot.indicator = ::soci::i_null;
        statement_.exchange(::soci::use(slot.text, slot.indicator));
    }
    void bind(std::int64_t number) {
        Slot& slot = slots_.emplace_back();
        slot.number = number;
        statement_.exchange(::soci::use(slot.number, slot.indicator));
    }
    void bind(const std::string& text) {
        Slot& slot = slots_.emplace_back();
        slot.text = text;
        statement_.exchange(::soci::use(slot.text, slot.indicator));
    }
    void bind(const Blob& blob) {
        if (!sqlite_) {  // where soci::blob is a large object; bytea has a text form
            bind(hex(blob.bytes));
            return;
        }
        Slot& slot = slots_.emplace_back();
        slot.blob = std::make_unique<::soci::blob>(session_);
        slot.blob->write(0, blob.bytes.data(), blob.bytes.size());
        statement_.exchange(::soci::use(*slot.blob, slot.indicator));
    }

    static std::string hex(std::string_view bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        std::string out = "\\x";
        out.reserve(2 + 2 * bytes.size());
        for (const char c : bytes) {
            const auto byte = static_cast<unsigned char>(c);
            out += digits[byte >> 4U];
            out += digits[byte & 0x0FU];
        }
        return out;
    }

    // SOCI takes every INTEGER column of SQLite for one of 32 bits; as text nothing is lost.
    SqlRows run_as_text() {
        const int count = statement_.get_backend()->prepare_for_describe();
        std::deque<Slot> cells(static_cast<std::size_t>(count));
        for (Slot& cell : cells) statement_.exchange(::soci::into(cell.text, cell.indicator));
        statement_.define_and_bind();
        SqlRows rows;
        for (bool more = statement_.execute(true); more; more = statement_.fetch()) {
            if (count == 0) break;
            auto& row = rows.emplace_back();
            for (const Slot& cell : cells) {
                row.push_back(cell.indicator == ::soci::i_null ? std::nullopt
                                                               : std::optional(cell.text));
            }
        }
        return rows;
    }

    SqlRows run_described() {
        ::soci::row described;
        statement_.exchange(::soci::into(described));
        statement_.define_and_bind();
        SqlRows rows;
        for (bool more = statement_.execute(true); more; more = statement_.fetch()) {
            auto& row = rows.emplace_back();
            for (std::size_t i = 0; i < described.size(); ++i) row.push_back(cell(described, i));
        }
        return rows;
    }

    static std::optional<std::string> cell(const ::soci::row& row, std::size_t i) {
        if (row.get_indicator(i) == ::soci::i_null) return std::nullopt;
        switch (row.get_properties(i).get_data_type()) {
            case ::soci::dt_integer:
                return std::to_string(row.get<int>(i));
            case ::soci::dt_long_long:
                return std::to_string(row.get<long long>(i));
            case ::soci::dt_unsigned_long_long:
                return std::to_string(row.get<unsigned long long>(i));
            case ::soci::dt_double:
                return std::to_string(row.get<double>(i));
            case ::soci::dt_string:
                return row.get<std::string>(i);
            case ::soci::dt_date:
            case ::soci::dt_blob:
            case ::soci::dt_xml:
                break;
        }
        throw Error(ErrorKind::misuse, "SOCI: a result column of a type without text form");
    }

    ::soci::session& session_;
    std::deque<Slot> slots_{};  // outlive the statement, which points at them
    ::soci::statement statement_;
    const bool sqlite_;
};

// A session on one of the two backends.
class SociSession {
public:
    // Throws Error{misuse} for another backend.
    explicit SociSession(::soci::session& session)
        : session_(session), sqlite_(session.get_backend_name() == "sqlite3") {
        if (!sqlite_ && session.get_backend_name() != "postgresql") {
            throw Error(ErrorKind::misuse, "SOCI: no adapter for " + session.get_backend_name());
        }
    }

    SqlRows execute(const SqlStatement& statement) const {
        try {
            return SociStatement(session_, statement, sqlite_).run();
        } catch (const ::soci::soci_error& error) {
            rethrow_soci(session_, error);
        }
    }

    // SOCI does not say, so the database is asked with a statement that works in a transaction
    // only, or only outside of one. A transaction in which a statement has failed counts as none on
    // PostgreSQL.
    bool in_transaction() const { return sqlite_ ? !begins() : sets_savepoint(); }

private:
    bool begins() const {
        if (!succeeds("BEGIN")) return false;
        session_ << "ROLLBACK";
        return true;
    }
    bool sets_savepoint() const {
        return succeeds("SAVEPOINT postroom_probe; RELEASE SAVEPOINT postroom_probe");
    }
    bool succeeds(const char* sql) const {
        try {
            session_ << sql;
            return true;
        } catch (const ::soci::soci_error& error) {
            if (soci_kind(session_, error) == ErrorKind::unavailable) rethrow_soci(session_, error);
            return false;
        }
    }

    ::soci::session& session_;
    const bool sqlite_;
};

}  // namespace detail

// Joins whatever transaction `session` is in; `session` must outlive this object. You commit or
// roll back; nobody tells us, so after_commit() and after_rollback() throw Error{misuse}. Finding
// out whether there is a transaction costs a round trip on PostgreSQL; SociTransaction does
// without.
class SociContext final : public JoinedContext {
public:
    explicit SociContext(::soci::session& session)
        : JoinedContext("SociTransaction"), session_(session) {}

    bool in_transaction() const override { return session_.in_transaction(); }
    SqlRows execute(const SqlStatement& statement) override { return session_.execute(statement); }

private:
    const detail::SociSession session_;
};

// Joins `transaction` of `session` and ends it: commit() and rollback() of this object are those of
// `transaction`, and the destructor rolls back what was not committed. Do not end `transaction`
// yourself. Both must outlive this object.
class SociTransaction final : public EndingTransaction {
public:
    SociTransaction(::soci::session& session, ::soci::transaction& transaction)
        : raw_(session), session_(session), transaction_(transaction) {}
    ~SociTransaction() override { rollback_quietly(); }

    SqlRows execute(const SqlStatement& statement) override {
        require_open("execute");
        return session_.execute(statement);
    }

private:
    void do_commit() override {
        // PostgreSQL answers COMMIT of a failed transaction with a rollback, which SOCI takes for
        // success.
        if (!session_.in_transaction()) {
            throw Error(ErrorKind::rejected, "commit: the transaction has failed before");
        }
        try {
            transaction_.commit();
        } catch (const ::soci::soci_error& error) {
            if (soci_lost(error)) {
                std::throw_with_nested(
                    Error(ErrorKind::outcome_unknown, "SOCI: " + error.get_error_message()));
            }
            detail::rethrow_soci(raw_, error);
        }
    }
    void do_rollback() override {
        try {
            transaction_.rollback();
        } catch (const ::soci::soci_error& error) {
            detail::rethrow_soci(raw_, error);
        }
    }
    bool soci_lost(const ::soci::soci_error& error) const {
        return detail::soci_kind(raw_, error) == ErrorKind::unavailable;
    }

    ::soci::session& raw_;
    const detail::SociSession session_;
    ::soci::transaction& transaction_;
};

}  // namespace postroom::adapter
