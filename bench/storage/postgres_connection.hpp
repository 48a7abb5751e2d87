// A thin owner of one libpq connection: prepared statements with binary parameters, sent one by one
// or as a pipeline. Any error ends the program: a comparison with failed statements means nothing.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

struct ResultDeleter {
    void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ResultDeleter>;

// Binary encodings of the parameter types that the shapes use.
std::string encode(std::int64_t value);
std::string encode(const std::vector<std::int64_t>& values);
std::string encode(const std::vector<std::string>& values, Oid element_type);
std::int64_t decode_int64(const PGresult* result, int row, int column);

class Connection {
public:
    explicit Connection(const std::string& conninfo);

    // Plain SQL, several statements allowed; the last result comes back in text format.
    Result execute(const std::string& sql);
    std::string scalar(const std::string& sql);
    void prepare(const std::string& name, const std::string& sql);
    Result run(const std::string& name, const std::vector<std::string>& parameters);

    // Pipeline: queue statements and syncs, then `finish` flushes once and returns the results of
    // all queued statements in order.
    void queue(const std::string& name, const std::vector<std::string>& parameters = {});
    void queue_sync();
    std::vector<Result> finish();

    // Runs `sql`, a COPY .. FROM STDIN, with `data`.
    void copy_in(const std::string& sql, const std::string& data);

    PGconn* native() const { return connection_.get(); }

    // Processor seconds of this connection's server process; the server runs on this machine.
    double server_cpu() const;

private:
    struct Closer {
        void operator()(PGconn* connection) const { PQfinish(connection); }
    };

    [[noreturn]] void give_up(const std::string& what);
    void check(const PGresult* result, const std::string& what);

    std::unique_ptr<PGconn, Closer> connection_;
    int queued_ = 0;
    int syncs_ = 0;
};

}  // namespace bench
