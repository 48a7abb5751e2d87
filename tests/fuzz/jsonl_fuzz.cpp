// Lines of JSON, as `postroom enqueue --jsonl` reads them.
#include "cli/input/message_line.hpp"
#include "fuzz.hpp"
#include "queue/message_json.hpp"

namespace postroom::fuzz {

namespace {

void read_line(std::string_view line) {
    takes<std::invalid_argument>([&] {
        const NewMessage message = cli::message_from_json(line);
        require(!message.topic.empty() && message.payload.has_value(),
                "a message has a topic and a payload");
        validate(message, Limits{.max_payload_bytes = 256});
        Message stored;
        stored.message_id = message.message_id;
        stored.topic = message.topic.str();
        stored.payload = *message.payload;
        stored.content_type = message.content_type;
        stored.headers = message.headers;
        const NewMessage again = cli::message_from_json(message_json(stored));
        require(again.payload == message.payload && again.headers == message.headers &&
                    again.topic.str() == message.topic.str(),
                "a message is read as it is written");
    });
}

}  // namespace

void run(std::string_view input) {
    while (!input.empty()) read_line(cut(input, '\n'));
}

}  // namespace postroom::fuzz
