// Pipeline: one exchange with the server: everything is sent, then everything is read.
//
// It may be kept open between two statements: what was sent then travels with the next.
//
// While much is sent, what the server already answers is taken in, so that neither side waits for
// the other with full buffers. Errors are kept until the exchange has ended; then the first is
// thrown.
#pragma once

#include <libpq-fe.h>

#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "backends/postgres/driver.hpp"
#include "backends/postgres/encoding.hpp"

namespace postroom::postgres {

class Pipeline {
public:
    // Enters pipeline mode; the destructor leaves it. Throws Error{misuse} when the user has left
    // something unfinished on the connection.
    explicit Pipeline(OwnConnection& owner);
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    void send_command(const char* sql);
    // As send_command; from here on a lost connection leaves the outcome open.
    void send_commit();
    // `on_row` must outlive the pipeline; see keep().
    void send(std::size_t index, const sql::Call& call, const sql::OnRow& on_row);
    // A statement of the user with its parameters; see take_rows().
    void send(const std::string& sql, const ParamList& params);
    // Ends a unit that succeeds or fails as a whole. `commits`: the server commits an implicit
    // transaction here.
    void send_sync(bool commits);

    // For calls whose answers are read when their caller is gone.
    const sql::OnRow& keep(sql::OnRow on_row) { return kept_.emplace_back(std::move(on_row)); }

    // Bytes of all statements so far.
    std::size_t size() const { return size_; }
    // The COMMIT of this pipeline has been answered.
    bool committed() const { return committed_; }

    // Reads all answers, then throws the first error.
    void finish();

    // Of the user's statement, in text form.
    SqlRows take_rows() { return std::move(rows_); }

private:
    enum class Kind { prepare, command, commit, call, statement, sync };
    struct Step {
        Kind kind;
        std::size_t call = 0;
        const sql::OnRow* on_row = nullptr;  // call
        const std::string* sql = nullptr;    // prepare, statement: its text
        bool of_user = false;
    };

    Duration patience() const;
    void require(int sent);
    void flush();
    void send(const std::string& sql, const std::string* name, const ParamList& params, int format);
    // The name of a text that the server knows from here on; nullptr: it is parsed each time.
    const std::string* prepare(const std::string& sql, bool of_user);
    void read(const Step& step);
    void handle(const Step& step, PGresult& result);
    void give_rows(const Step& step, const PGresult& result);
    void note(std::exception_ptr error);
    [[noreturn]] void throw_broken();
    [[noreturn]] void throw_unanswered(Duration waited);

    OwnConnection& owner_;
    PGconn* const connection_;
    Duration patience_;            // with which the next answer is waited for
    std::deque<sql::OnRow> kept_;  // they are pointed at
    std::vector<Step> steps_;
    SqlRows rows_;
    std::size_t size_ = 0;
    std::size_t unsent_ = 0;  // since the last flush
    bool commit_sent_ = false;
    bool committed_ = false;
    std::exception_ptr error_;
};

}  // namespace postroom::postgres
