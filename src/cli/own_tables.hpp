// OwnTables: queues of a command's own in a user's database, for as long as this lives.
//
// They have names of their own, in a schema of their own where the database has schemas. What is
// there under these names already, whosever it is, is never touched: then the command does nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "daemon/relay_plan.hpp"
#include "postroom/open_store.hpp"

namespace postroom::cli {

class OwnTables {
public:
    // `options` with the names of the command `of`: postroom_bench, say.
    static OpenOptions named(OpenOptions options, const std::string& of);

    // The caller's way to open the schema of `options`, which are named(), at `url`.
    using OpenSchema = std::function<std::unique_ptr<Schema>()>;

    // Creates them. Throws Failure when it may not, or when they are there: an earlier run of the
    // command was killed, or they are somebody's.
    OwnTables(std::string of, std::string url, OpenOptions options, const OpenSchema& open);
    // Removes them; what goes wrong is told on standard error.
    ~OwnTables();
    OwnTables(const OwnTables&) = delete;
    OwnTables& operator=(const OwnTables&) = delete;

    std::unique_ptr<Store> open() const;

    // Creates one more table and returns its name as SQL writes it. It goes with the others.
    std::string add(const std::string& table, const std::string& columns);

    // Removes what an earlier run left behind, the tables `added` by it included.
    static void clean(const std::string& url, const OpenOptions& options, const OpenSchema& open,
                      const std::vector<std::string>& added = {});

private:
    const std::string of_;
    const std::string url_;
    const OpenOptions options_;
    const std::string script_;
    std::vector<std::string> added_;
};

// What --dry-run prints: what a command with own tables, named in `plan`, would do to them.
std::string own_tables_plan(const Invocation& in, const daemon::StorePlan& plan);

}  // namespace postroom::cli
