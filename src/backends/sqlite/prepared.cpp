#include "backends/sqlite/prepared.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include <fmt/format.h>
#include <sqlite3.h>

#include "backends/sqlite/errors.hpp"
#include "backends/sqlite/row.hpp"
#include "base/assert.hpp"
#include "sql/plain_value.hpp"

namespace postroom::sqlite {

namespace {

sqlite3_stmt* prepare(sqlite3* connection, const std::string& sql, unsigned flags,
                      const char** tail) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(connection, sql.data(), static_cast<int>(sql.size()), flags,
                                        &statement, tail);
    if (code != SQLITE_OK) throw error_of(connection, "prepare");
    return statement;
}

sqlite3_stmt* prepare_single(sqlite3* connection, const std::string& sql, bool kept) {
    const char* tail = nullptr;
    std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement(
        prepare(connection, sql, kept ? SQLITE_PREPARE_PERSISTENT : 0, &tail), &sqlite3_finalize);
    // Blanks and comments may follow; they prepare to nothing.
    const char* ignored = nullptr;
    const std::string rest(tail, sql.data() + sql.size());
    sqlite3_stmt* const second = rest.empty() ? nullptr : prepare(connection, rest, 0, &ignored);
    if (second != nullptr) {
        sqlite3_finalize(second);
        throw Error(ErrorKind::misuse, "execute: one statement at a time");
    }
    return statement.release();
}

// SQLite takes a null pointer for NULL.
const char* bytes_of(std::string_view bytes) { return bytes.empty() ? "" : bytes.data(); }

int bind_text(sqlite3_stmt* statement, int position, std::string_view text,
              sqlite3_destructor_type lifetime) {
    return sqlite3_bind_text64(statement, position, bytes_of(text), text.size(), lifetime,
                               SQLITE_UTF8);
}

int bind_blob(sqlite3_stmt* statement, int position, std::string_view bytes,
              sqlite3_destructor_type lifetime) {
    return sqlite3_bind_blob64(statement, position, bytes_of(bytes), bytes.size(), lifetime);
}

// The caller keeps the bytes of a value alive while the statement runs; only what is made here is
// copied.
struct BindValue {
    sqlite3_stmt* statement;
    int position;

    // Nothing is bound before a run.
    int operator()(std::monostate) const { return SQLITE_OK; }
    int operator()(std::int64_t number) const {
        return sqlite3_bind_int64(statement, position, number);
    }
    int operator()(std::string_view text) const {
        return bind_text(statement, position, text, SQLITE_STATIC);
    }
    int operator()(const sql::BlobView& blob) const {
        return bind_blob(statement, position, blob.bytes, SQLITE_STATIC);
    }
    int operator()(const std::string& text) const { return (*this)(std::string_view(text)); }
    int operator()(const Blob& blob) const { return (*this)(sql::BlobView{blob.bytes}); }
    int operator()(const Uuid& uuid) const {
        return sqlite3_bind_blob64(statement, position, uuid.bytes.data(), uuid.bytes.size(),
                                   SQLITE_STATIC);
    }
    int operator()(const Instant& time) const {
        return (*this)(std::int64_t{time.time_since_epoch().count()});
    }
    int operator()(sql::IntArray numbers) const {
        return bind_text(statement, position, sql::json_of(numbers), copy_of_bytes);
    }

    template <class Array>
    int operator()(const Array&) const {
        throw Error(ErrorKind::misuse, "SQLite takes arrays of integers only");
    }

    // SQLITE_TRANSIENT without its C cast.
    static inline const auto copy_of_bytes =
        reinterpret_cast<sqlite3_destructor_type>(std::intptr_t{-1});
};

class ResetAtEnd {
public:
    explicit ResetAtEnd(sqlite3_stmt* statement) : statement_(statement) {}
    ~ResetAtEnd() {
        sqlite3_reset(statement_);
        sqlite3_clear_bindings(statement_);
    }
    ResetAtEnd(const ResetAtEnd&) = delete;
    ResetAtEnd& operator=(const ResetAtEnd&) = delete;

private:
    sqlite3_stmt* statement_;
};

// Since 1970, where julianday('now') counts from noon in 4714 BC.
std::chrono::milliseconds milliseconds_of(sqlite3* connection) {
    constexpr std::int64_t epoch = 210'866'760'000'000;
    sqlite3_vfs* vfs = nullptr;
    sqlite3_file_control(connection, "main", SQLITE_FCNTL_VFS_POINTER, &vfs);
    sqlite3_int64 now = 0;
    POSTROOM_ASSERT(vfs != nullptr && vfs->iVersion >= 2);
    vfs->xCurrentTimeInt64(vfs, &now);
    return std::chrono::milliseconds{now - epoch};
}

}  // namespace

std::int64_t RunClock::now() {
    if (!now_) now_ = Duration{milliseconds_of(connection_)}.count();
    return *now_;
}

void Prepared::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Prepared::Prepared(sqlite3* connection, const std::string& sql, bool kept)
    : connection_(connection), statement_(prepare_single(connection, sql, kept)) {}

bool Prepared::read_only() const {
    return statement_ == nullptr || sqlite3_stmt_readonly(statement_.get()) != 0;
}

int Prepared::column_count() const { return sqlite3_column_count(statement_.get()); }

void Prepared::run(const sql::Statement& statement, const sql::Params& params, RunClock& clock,
                   std::size_t call, const sql::OnRow& on_row) {
    run_with(
        [&] {
            places_.resize(statement.names.size());
            for (std::size_t i = 0; i < places_.size(); ++i) {
                const std::string& name = statement.names[i];
                const int position = static_cast<int>(i) + 1;
                if (name == "run_now") {
                    bind(position, sql::Value{clock.now()});
                } else {
                    bind(position, params.at(name, places_[i]));
                }
            }
        },
        [&](const sql::Row& row) {
            if (on_row) on_row(call, row);
        });
}

void Prepared::run_block(const sql::Statement& one, std::span<const sql::Call> calls) {
    run_with(
        [&] {
            const std::size_t parameters = one.names.size();
            places_.resize(parameters);
            for (std::size_t call = 0; call < calls.size(); call += 2) {
                for (std::size_t i = 0; i < parameters; ++i) {
                    bind(static_cast<int>(call / 2 * parameters + i) + 1,
                         calls[call].params->at(one.names[i], places_[i]));
                }
            }
        },
        [](const sql::Row&) {});
}

void Prepared::run(const std::vector<SqlValue>& values,
                   const std::function<void(const sql::Row&)>& on_row) {
    run_with(
        [&] {
            check_value_count(values.size());
            for (std::size_t i = 0; i < values.size(); ++i)
                bind(static_cast<int>(i) + 1, values[i]);
        },
        [&](const sql::Row& row) {
            if (on_row) on_row(row);
        });
}

void Prepared::run() {
    run_with([] {}, [](const sql::Row&) {});
}

template <class Bind, class Visit>
void Prepared::run_with(const Bind& bind, const Visit& visit) {
    if (statement_ == nullptr) return;  // nothing but blanks and comments
    const ResetAtEnd reset(statement_.get());
    bind();
    step_all(visit);
}

template <class Visit>
void Prepared::step_all(const Visit& visit) {
    const StatementRow row(statement_.get());
    for (;;) {
        const int code = sqlite3_step(statement_.get());
        if (code == SQLITE_DONE) return;
        if (code != SQLITE_ROW) throw error_of(connection_, "execute");
        visit(row);
    }
}

void Prepared::bind(int position, const sql::Value& value) {
    check(std::visit(BindValue{statement_.get(), position}, value));
}

void Prepared::bind(int position, const SqlValue& value) {
    check(std::visit(BindValue{statement_.get(), position}, value));
}

void Prepared::check(int code) const {
    if (code != SQLITE_OK) throw error_of(connection_, "bind");
}

// A missing value would silently be NULL.
void Prepared::check_value_count(std::size_t given) const {
    const auto wanted = static_cast<std::size_t>(sqlite3_bind_parameter_count(statement_.get()));
    if (given != wanted) {
        throw Error(ErrorKind::misuse,
                    fmt::format("execute: {} values for {} parameters", given, wanted));
    }
}

}  // namespace postroom::sqlite
