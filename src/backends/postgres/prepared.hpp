// PreparedStatements: which texts the server of one connection knows by a name. Pure.
//
// Our own statements are prepared when they are first sent. Those of the user are when they come
// again, and only if they return no rows: a plan whose rows change their type with the table is
// refused by the server, and the transaction in which that happens is lost. A text of the user that
// has failed by its name is not prepared again: its parameters may have other types by now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace postroom::postgres {

class PreparedStatements {
public:
    // The name of `sql`; nullptr when it is not prepared.
    const std::string* find(const std::string& sql) const;
    // Gives it a name; nullptr when there are too many.
    const std::string* add(const std::string& sql);
    void forget(const std::string& sql) { names_.erase(sql); }
    // It failed. Forgets its name, if it has one, and one of the user never gets another.
    void failed(const std::string& sql);

    // A statement of the user that returned no rows has run unprepared.
    void ran(const std::string& sql);
    // Whether it has often enough to be prepared the next time.
    bool repeated(const std::string& sql) const;

private:
    std::unordered_map<std::string, std::string> names_;
    std::unordered_map<std::string, int> runs_;
    std::uint64_t count_ = 0;  // names are never used twice
};

}  // namespace postroom::postgres
