// ProgramLooks: what operators do with the program `postroom` beside a database, as child
// processes: commands, and a relay with its admin server.
#pragma once

#include <string>
#include <vector>

#include "conformance/stopwatch.hpp"
#include "program/program.hpp"

namespace postroom::test {

class ProgramLooks {
public:
    // `url` is of the database.
    ProgramLooks(const std::string& url, const Stopwatch& watch);

    void at_status() const;
    void at_lists() const;
    // `show` and `explain`; each id is one that the program takes.
    void at_message(const std::string& name, const std::string& id) const;
    // A relay: its first delivery, its figures over HTTP, the memory that it takes.
    void at_relay() const;

private:
    void look(const std::vector<std::string>& command, const std::string& shown) const;

    ProgramFolder folder_;
    const Stopwatch& watch_;
};

}  // namespace postroom::test
