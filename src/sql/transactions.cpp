#include "sql/transactions.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "postroom/error.hpp"
#include "sql/backend.hpp"

namespace postroom::sql {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::misuse, what); }

// A row of text cells; statements that run in callers' transactions yield integers and texts only.
class TextRow final : public Row {
public:
    explicit TextRow(const std::vector<std::optional<std::string>>& cells) : cells_(cells) {}

    bool null(int column) const override { return !cell(column).has_value(); }
    std::int64_t integer(int column) const override {
        const std::string_view digits = text(column);
        if (digits == "t" || digits == "true") return 1;
        std::int64_t value = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return value;
    }
    std::string_view text(int column) const override {
        return null(column) ? std::string_view{} : std::string_view(*cell(column));
    }
    std::string_view blob(int) const override {
        refuse("bytes in the result of a caller's transaction");
    }
    Uuid uuid(int column) const override { return Uuid::parse(text(column)).value_or(Uuid{}); }
    Instant time(int) const override { refuse("a time in the result of a caller's transaction"); }

private:
    const std::optional<std::string>& cell(int column) const {
        return cells_.at(static_cast<std::size_t>(column));
    }
    const std::vector<std::optional<std::string>>& cells_;
};

}  // namespace

SqlTransaction::SqlTransaction(PooledConnection connection, const void* origin)
    : connection_(std::move(connection)), origin_(origin) {
    (*connection_)->begin();
}

SqlTransaction::~SqlTransaction() {
    if (state_ == State::open) roll_back();
}

void SqlTransaction::require_open(const char* operation) const {
    if (state_ != State::open) refuse(fmt::format("{}: the transaction has ended", operation));
}

// A statement that went on now would stand alone, and a COMMIT would say yes to nothing.
void SqlTransaction::require_unended() const {
    if (in_transaction()) return;
    const Connection& connection = **connection_;
    if (connection.healthy() && !ended_ && connection.undone_by_failure())
        throw Error(ErrorKind::conflict,
                    "the database has undone the transaction; roll back and begin again");
    if (connection.healthy()) throw ended_before();
    throw Error(ErrorKind::unavailable,
                "the transaction has ended with its connection; roll back and begin again");
}

Connection& SqlTransaction::connection() {
    require_open("transaction");
    require_unended();
    return **connection_;
}

SqlRows SqlTransaction::execute(const SqlStatement& statement) {
    Connection& open = connection();
    SqlRows rows = open.execute(statement);
    ended_ = open.ends_transaction(statement.sql);
    return rows;
}

void SqlTransaction::after_commit(std::function<void()> callback) {
    require_open("after_commit");
    after_commit_.push_back(std::move(callback));
}

void SqlTransaction::after_rollback(std::function<void()> callback) {
    require_open("after_rollback");
    after_rollback_.push_back(std::move(callback));
}

void SqlTransaction::commit() {
    require_open("commit");
    try {
        require_unended();
        (*connection_)->commit();
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::outcome_unknown) {
            state_ = State::unknown;
            connection_.reset();
            after_commit_.clear();
        } else {
            roll_back();  // what the commit said is the error to report
        }
        throw;
    }
    finish(State::committed, after_commit_);
}

void SqlTransaction::rollback() {
    if (state_ != State::open) return;
    if (const std::exception_ptr failed = roll_back()) std::rethrow_exception(failed);
}

// A connection that cannot even say ROLLBACK is broken, and the database rolls back by itself: the
// callbacks run in either case.
std::exception_ptr SqlTransaction::roll_back() noexcept {
    std::exception_ptr failed;
    try {
        if ((*connection_)->in_transaction()) (*connection_)->rollback();
    } catch (...) {
        failed = std::current_exception();
    }
    finish(State::rolled_back, after_rollback_);
    return failed;
}

void SqlTransaction::finish(State state, std::vector<std::function<void()>>& callbacks) {
    state_ = state;
    connection_.reset();
    for (const std::function<void()>& callback : callbacks) {
        try {
            callback();
        } catch (...) {  // NOLINT(bugprone-empty-catch): the transaction has ended, nothing may
                         // undo that
        }
    }
    after_commit_.clear();
    after_rollback_.clear();
}

Error ended_before() {
    return {
        ErrorKind::misuse,
        "the transaction was ended before, by a COMMIT, a ROLLBACK or a change of the schema on "
        "its connection; roll back and begin again"};
}

void BorrowedTransaction::after_commit(std::function<void()>) {
    refuse("after_commit: nobody tells us when a borrowed connection commits");
}

void BorrowedTransaction::after_rollback(std::function<void()>) {
    refuse("after_rollback: nobody tells us when a borrowed connection rolls back");
}

SqlStatement render(const Call& call, SqlValue (*render_value)(const Value&)) {
    SqlStatement out{.sql = call.statement->sql, .params = {}};
    for (const std::string& name : call.statement->names) {
        out.params.push_back(render_value(call.params->at(name)));
    }
    return out;
}

void CallerConnection::run(Bracket bracket, std::span<const Call> calls, const OnRow& on_row) {
    if (bracket != Bracket::joined) refuse("a caller's transaction can only be joined");
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const SqlRows rows = tx_.execute(render(calls[i], render_));
        for (const auto& cells : rows) on_row(i, TextRow(cells));
    }
}

void CallerConnection::begin() { refuse("begin: the transaction belongs to the caller"); }
void CallerConnection::commit() { refuse("commit: the transaction belongs to the caller"); }
void CallerConnection::rollback() { refuse("rollback: the transaction belongs to the caller"); }
void CallerConnection::execute_script(const std::string&) {
    refuse("a script cannot run in a caller's transaction");
}

Connection* connection_of(TxContext& tx) {
    auto* const holder = dynamic_cast<ConnectionHolder*>(&tx);
    return holder == nullptr ? nullptr : &holder->connection();
}

std::unique_ptr<TxContext> make_borrowed(std::unique_ptr<Connection> connection) {
    return std::make_unique<BorrowedTransaction>(std::move(connection));
}

}  // namespace postroom::sql
