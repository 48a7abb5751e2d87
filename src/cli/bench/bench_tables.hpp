// BenchTables: queues of the bench's own in a user's database, for as long as this lives.
//
// They have names of their own, in a schema of their own where the database has schemas. What is
// there under these names already, whosever it is, is never touched: then there is no bench.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "postroom/open_store.hpp"

namespace postroom::cli {

class BenchTables {
public:
    // `options` with the names of the bench.
    static OpenOptions named(OpenOptions options);

    // The caller's way to open the schema of `options`, which are named(), at `url`.
    using OpenSchema = std::function<std::unique_ptr<Schema>()>;

    // Creates them. Throws Failure when it may not, or when they are there: an earlier bench was
    // killed, or they are somebody's.
    BenchTables(std::string url, OpenOptions options, const OpenSchema& open);
    // Removes them; what goes wrong is told on standard error.
    ~BenchTables();
    BenchTables(const BenchTables&) = delete;
    BenchTables& operator=(const BenchTables&) = delete;

    std::unique_ptr<Store> open() const;

    // Removes what an earlier bench left behind.
    static void clean(const std::string& url, const OpenOptions& options, const OpenSchema& open);

private:
    const std::string url_;
    const OpenOptions options_;
    const std::string script_;
};

}  // namespace postroom::cli
