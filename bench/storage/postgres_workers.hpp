// The claim-read-ack loops of the PostgreSQL shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "postgres_connection.hpp"

namespace bench {

// One worker of a drain.
class Worker {
public:
    virtual ~Worker() = default;
    // Settles the messages of the previous step and claims the next batch; returns how many were
    // claimed, 0 when nothing is left.
    virtual std::size_t step() = 0;
    // Settles what the last step claimed.
    virtual void finish() = 0;
    // Processor seconds that the server has spent for this worker.
    virtual double server_cpu() const = 0;
};

// One table, claimed by UPDATE with SKIP LOCKED, settled by DELETE: two statements, two commits.
std::unique_ptr<Worker> make_raw_worker(const std::string& conninfo, int batch);

// Live table, unlogged leases and low-water mark; every statement sent by the client, ack, claim
// and read in one pipeline.
std::unique_ptr<Worker> make_statement_worker(const std::string& conninfo, int batch);

// Live table, leases and mark, reached by server-side functions. Each of ack, claim and read ends
// with a Sync, or with `one_sync` ack and claim are framed by BEGIN and COMMIT and the pipeline has
// one Sync.
struct FunctionShape {
    std::string claim = "claim";
    std::string read = "read";
    std::string ack = "ack";
    bool one_sync = true;
};
std::unique_ptr<Worker> make_function_worker(const std::string& conninfo, int batch,
                                             const FunctionShape& shape);

}  // namespace bench
