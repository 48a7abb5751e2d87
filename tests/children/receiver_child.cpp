// An application that receives: each line of standard input, SOURCE MESSAGE_ID CONTENT, goes into
// the inbox, and a dispatcher handles it.
//
//   receiver_child URL
#include <iostream>
#include <sstream>
#include <string>

#include "postroom/dispatcher.hpp"
#include "postroom/inbox.hpp"
#include "postroom/open_store.hpp"

int main(int count, char** arguments) {
    if (count != 2) return 2;
    using namespace postroom;
    const StorePtr store = open_store(arguments[1]);
    const Inbox inbox(*store);
    Dispatcher dispatcher(*store, {.queue = Queue::inbox});
    dispatcher.on("received", [](const Message&) {});
    dispatcher.start();
    for (std::string line; std::getline(std::cin, line);) {
        std::string source;
        std::string message_id;
        std::string content;
        std::istringstream(line) >> source >> message_id >> content;
        inbox.enqueue({.topic = TopicName("received"),
                       .source = source,
                       .message_id = message_id,
                       .payload = content,
                       .hash = content_hash(content)});
    }
    dispatcher.close();
}
