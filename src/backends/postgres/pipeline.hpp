// Pipeline: one exchange with the server: everything is sent, then everything is read.
//
// While sending, what the server already answers is taken in, so that neither side waits for the
// other with full buffers. Errors are kept until the exchange has ended; then the first is thrown.
#pragma once

#include <libpq-fe.h>

#include <exception>
#include <string>
#include <vector>

#include "backends/postgres/driver.hpp"

namespace postroom::postgres {

class Pipeline {
public:
    // Enters pipeline mode; the destructor leaves it.
    Pipeline(OwnConnection& owner, const sql::OnRow& on_row);
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    void send_command(const char* sql);
    // As send_command; from here on a lost connection leaves the outcome open.
    void send_commit();
    void send(std::size_t index, const sql::Call& call);
    // Ends a unit that succeeds or fails as a whole. `commits`: the server commits an implicit
    // transaction here.
    void send_sync(bool commits);

    // Reads all answers, then throws the first error.
    void finish();

private:
    enum class Kind { prepare, command, commit, call, sync };
    struct Step {
        Kind kind;
        std::size_t call = 0;
        std::string sql;  // prepare: its text
    };

    void require(int sent);
    void flush();
    void prepare(const std::string& name, const std::string& sql);
    void read(const Step& step);
    void handle(const Step& step, PGresult& result);
    void give_rows(std::size_t call, const PGresult& result);
    void note(std::exception_ptr error);
    [[noreturn]] void throw_broken();

    OwnConnection& owner_;
    PGconn* const connection_;
    const sql::OnRow& on_row_;
    std::vector<Step> steps_;
    bool commit_sent_ = false;
    std::exception_ptr error_;
};

}  // namespace postroom::postgres
