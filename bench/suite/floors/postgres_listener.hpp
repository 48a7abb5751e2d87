// The LISTEN loop that one writes by hand: the writer notifies in the transaction of its INSERT,
// and another process claims what is there whenever it hears of something.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "storage/postgres_connection.hpp"

namespace bench {

// On the tables of make_postgres_floor().
class NotifyingWriter {
public:
    explicit NotifyingWriter(const std::string& url);
    // Returns when it is committed.
    void send(std::size_t number);

private:
    Connection connection_;
};

// Calls `handle` with the number of each message, then deletes it; until standard input ends.
void listen_by_hand(const std::string& url, const std::function<void()>& ready,
                    const std::function<void(std::size_t number)>& handle);

}  // namespace bench
