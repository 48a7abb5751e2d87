// ClaimedRows: what a claim has read, within its number of bytes. The first message has room
// whatever the number, as long as a message may be that large.
//
// A message that does not fit is not copied: it is to be released for the next claim, or, if it is
// larger than any message may be, to end as unreadable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "postroom/message.hpp"
#include "sql/connection.hpp"

namespace postroom::sql {

// Of payloads and headers.
struct ClaimBytes {
    std::size_t in_all = 0;
    std::size_t of_one = 0;
};

class ClaimedRows {
public:
    ClaimedRows(Queue queue, std::size_t rows_max, const ClaimBytes& most)
        : queue_(queue), rows_max_(rows_max), most_(most) {}

    void add(const Row& row);
    // For messages that are read one by one. Whether there is room for one more of that size.
    bool takes(std::size_t bytes);
    void add(Message message) { messages_.push_back(std::move(message)); }
    // There is none. `labels` is all that was read of it.
    void turn_away(Message labels, std::size_t bytes);
    void add_unreadable(Message labels, std::string why);
    // It could not be read at this moment.
    void leave(const Lease& lease) { beyond_.push_back(lease); }
    // A claim that is repeated begins again.
    void clear();

    // Those that fit and those that are unreadable, in order of priority, then of seq.
    std::vector<Message> take();
    // Those that did not, or were left.
    const std::vector<Lease>& beyond() const { return beyond_; }

private:
    const Queue queue_;
    const std::size_t rows_max_;
    const ClaimBytes most_;
    std::size_t bytes_ = 0;
    std::vector<Message> messages_;
    std::vector<Lease> beyond_;
};

}  // namespace postroom::sql
