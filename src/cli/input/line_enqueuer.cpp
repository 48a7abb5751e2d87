#include "cli/input/line_enqueuer.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "cli/failure.hpp"
#include "cli/input/message_line.hpp"
#include "cli/input/payload_check.hpp"
#include "cli/output/text.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

void LineEnqueuer::run(std::istream& input) {
    std::string line;
    while (std::getline(input, line)) {
        ++line_;
        bytes_read_ += line.size() + 1;
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        take(line);
        if (messages_.size() == batch_) flush();
    }
    // The last line may be half of one: nothing of it, nor of its batch, is stored.
    if (input.bad()) {
        throw Failure(ExitCode::input, fmt::format("cannot read the input behind line {}; {}",
                                                   line_, stored_so_far()));
    }
    flush();
}

void LineEnqueuer::take(const std::string& line) {
    try {
        NewMessage message = message_from_json(line);
        validate(message, limits_);
        warn_about(line, message);
        messages_.push_back(std::move(message));
    } catch (const std::invalid_argument& error) {
        throw Failure(ExitCode::input,
                      fmt::format("line {}: {}", line_, continued(error.what(), stored_so_far())));
    }
}

// Only bytes can be something else than their content type says; what is said once is enough.
void LineEnqueuer::warn_about(std::string_view line, const NewMessage& message) {
    if (warned_ || line.find("\"payload_base64\"") == std::string_view::npos) return;
    const std::string fault = payload_fault(message);
    if (fault.empty()) return;
    warned_ = true;
    complain(fmt::format(
        "warning: line {}: {}; content_type says what it is (of other lines this is not said)",
        line_, fault));
}

std::string LineEnqueuer::stored_so_far() const {
    if (writer_ == nullptr) return "nothing was to be stored";
    if (stored_to_ == 0) return "nothing was stored";
    return fmt::format("lines up to {} are stored, those behind are not", stored_to_);
}

void LineEnqueuer::flush() {
    if (messages_.empty()) return;
    if (writer_ != nullptr) {
        store();
    } else {
        enqueued_ += messages_.size();
    }
    stored_to_ = line_;
    messages_.clear();
    progress_.at(enqueued_ + existed_, bytes_ == 0
                                           ? std::nullopt
                                           : std::optional(static_cast<double>(bytes_read_) /
                                                           static_cast<double>(bytes_)));
}

void LineEnqueuer::store() {
    try {
        for (const Written& one : writer_->enqueue_all(messages_))
            ++(one.already_existed.value_or(false) ? existed_ : enqueued_);
    } catch (const Error& error) {
        throw Error(error.kind(), fmt::format("{}; {}", error.what(), stored_so_far()));
    }
}

}  // namespace postroom::cli
