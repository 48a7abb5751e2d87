// Fragments: pieces of SQL that stand in many statements, written as @words in the texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace postroom::sqlite {

// Replaces the @words of `text`:
//   @now      the time of the statement, in microseconds since 1970
//   @message  the columns that a message carries from table to table
//   @scheduled_message  the same from a row of {live}, with the :priority, :due_time and
//   :ordering_key that have no place there
//   @capped_due_time  when a new message falls due: :due_time, but no later than it expires
//   @renewed_due_time  the same for one that arrived again
//   @these    message m is one of :seqs with one of :nonces. Sets suffice: nonces are random 64-bit
//   numbers, so a
//             foreign pair of the two does not occur
//   @this     message m is :seq with :nonce
//   @run      message m is one of the run :first, :last, :nonces
//   @run_held all messages of the run are live, and the lease :lease_id on each of them stands
//   @free     nobody holds message m, not even with a lease that has run out
//   @held     the lease :lease_id on message m stands
//   @live_held  the same in {live}, where a message may be leased from birth
//   @keyed    message m is the queued content of the inbox key :source, :message_id
std::string weave(std::string_view text);

std::vector<std::string> weave_all(const std::vector<std::string_view>& texts);

}  // namespace postroom::sqlite
