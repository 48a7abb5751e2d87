// LineEnqueuer: messages from lines of JSON, batch by batch, each batch one transaction.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "cli/input/message_writer.hpp"
#include "cli/output/progress.hpp"

namespace postroom::cli {

class LineEnqueuer {
public:
    // Without a writer it only checks. All of them must outlive this. `bytes`: the size of the
    // input; 0: not known.
    LineEnqueuer(MessageWriter* writer, const Limits& limits, std::size_t batch,
                 std::uint64_t bytes = 0)
        : writer_(writer), limits_(limits), batch_(batch), bytes_(bytes) {}

    // Throws Failure{input} that names the line at fault and what was stored before it; empty lines
    // are passed over. What the store throws says what was stored before it too.
    void run(std::istream& input);

    // With those of which nobody told whether they existed.
    std::uint64_t enqueued() const { return enqueued_; }
    std::uint64_t existed() const { return existed_; }

private:
    void take(const std::string& line);
    void warn_about(std::string_view line, const NewMessage& message);
    std::string stored_so_far() const;
    void flush();
    void store();

    MessageWriter* const writer_;
    const Limits& limits_;
    const std::size_t batch_;
    const std::uint64_t bytes_;
    std::vector<NewMessage> messages_;
    std::uint64_t bytes_read_ = 0;
    std::uint64_t line_ = 0;
    std::uint64_t stored_to_ = 0;
    std::uint64_t enqueued_ = 0;
    std::uint64_t existed_ = 0;
    bool warned_ = false;
    Progress progress_{"messages"};
};

}  // namespace postroom::cli
