#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <system_error>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/input/line_enqueuer.hpp"
#include "cli/input/read_all.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"
#include "postroom/outbox.hpp"

namespace postroom::cli {

namespace {

constexpr std::int64_t batch_max = 10'000;

// A folder, a closed descriptor or a broken disk is not an empty payload.
std::string read_payload(const Invocation& in) {
    if (in.has("payload")) return in.value("payload");
    const std::string file = in.value("payload-file", "-");
    if (file == "-") return read_all(STDIN_FILENO, "standard input");
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        throw Failure(ExitCode::not_found,
                      fmt::format("cannot read the file '{}': {}", printable(file),
                                  std::system_category().message(errno)));
    const std::string what = fmt::format("the file '{}'", printable(file));
    std::string bytes = read_all(descriptor, what);
    ::close(descriptor);
    return bytes;
}

std::optional<Instant> time_of(const Invocation& in, std::string_view option) {
    if (!in.has(option)) return std::nullopt;
    const std::optional<Instant> time = parse_time(in.value(option));
    if (!time)
        throw Failure(ExitCode::usage,
                      fmt::format("--{} needs a time such as 2026-01-31T12:00:00Z", option));
    return time;
}

Headers headers_of(const Invocation& in) {
    Headers headers;
    for (const std::string& header : in.values("header")) {
        const std::size_t equals = header.find('=');
        if (equals == std::string::npos || equals == 0)
            throw Failure(ExitCode::usage, "--header needs NAME=VALUE");
        headers[header.substr(0, equals)] = header.substr(equals + 1);
    }
    return headers;
}

NewMessage message_of(const Invocation& in) {
    NewMessage message;
    message.topic = TopicName(in.argument(0));
    message.content_type = in.value("content-type", message.content_type);
    message.headers = headers_of(in);
    message.message_id = MessageId(in.value("message-id"));
    message.correlation_id = in.value("correlation-id");
    message.tenant_id = in.value("tenant-id");
    message.idempotency_key = in.value("idempotency-key");
    message.ordering_key = in.value("ordering-key");
    message.due_time = time_of(in, "due-time");
    message.expires_at = time_of(in, "expires-at");
    const std::optional<std::int64_t> priority = parse_integer(in.value("priority", "0"));
    if (!priority || *priority < -1'000'000 || *priority > 1'000'000)
        throw Failure(ExitCode::usage, "--priority needs a whole number");
    message.priority = static_cast<std::int32_t>(*priority);
    message.payload = read_payload(in);
    return message;
}

ExitCode enqueue_one(const Invocation& in) {
    const NewMessage message = message_of(in);
    const Config config = load_config(in);
    const daemon::StorePlan& plan = one_store(config, in);
    try {
        validate(message, plan.options.limits);
    } catch (const std::invalid_argument& error) {
        throw Failure(ExitCode::input, error.what());
    }
    if (in.dry_run()) {
        print(in.json() ? "{\"would_enqueue\":1,\"dry_run\":true}\n" : "would enqueue 1 message\n");
        return ExitCode::ok;
    }
    const std::unique_ptr<Store> store = open_store_of(config, plan, Absent::create);
    const EnqueueResult result = Outbox(*store).enqueue(message);
    if (in.json()) {
        print(JsonObject()
                  .add("id", result.id.to_string())
                  .add("message_id", result.message_id.str())
                  .add("already_existed", result.already_existed)
                  .text() +
              "\n");
    } else {
        print(fmt::format("{} {}{}\n", result.id.to_string(), printable(result.message_id.str()),
                          result.already_existed ? " (was there already)" : ""));
    }
    return ExitCode::ok;
}

// For the time left: a file tells its size, a pipe does not.
std::uint64_t input_bytes() {
    struct stat about {};
    if (::fstat(STDIN_FILENO, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
    return static_cast<std::uint64_t>(about.st_size);
}

std::size_t batch_of(const Invocation& in) {
    const std::optional<std::int64_t> batch = parse_integer(in.value("batch", "500"));
    if (!batch || *batch < 1 || *batch > batch_max)
        throw Failure(ExitCode::usage,
                      fmt::format("--batch must be a whole number from 1 to {}", batch_max));
    return static_cast<std::size_t>(*batch);
}

ExitCode enqueue_lines(const Invocation& in) {
    const std::size_t batch = batch_of(in);
    const Config config = load_config(in);
    const daemon::StorePlan& plan = one_store(config, in);
    std::unique_ptr<Store> store;
    std::optional<Outbox> outbox;
    if (!in.dry_run()) {
        store = open_store_of(config, plan, Absent::create);
        outbox.emplace(*store);
    }
    std::ios::sync_with_stdio(false);
    LineEnqueuer enqueuer(outbox ? &*outbox : nullptr, plan.options.limits, batch, input_bytes());
    enqueuer.run(std::cin);
    if (in.json()) {
        print(JsonObject()
                  .add("enqueued", enqueuer.enqueued())
                  .add("already_existed", enqueuer.existed())
                  .add("dry_run", in.dry_run())
                  .text() +
              "\n");
    } else {
        print(fmt::format(
            "{}{} messages{}\n", in.dry_run() ? "would enqueue " : "enqueued ", enqueuer.enqueued(),
            enqueuer.existed() > 0 ? fmt::format(", {} were there already", enqueuer.existed())
                                   : ""));
    }
    return ExitCode::ok;
}

ExitCode run_enqueue(const Invocation& in) {
    if (in.has("jsonl") == !in.arguments().empty())
        throw Failure(ExitCode::usage, "enqueue takes a TOPIC, or --jsonl; one of them");
    return in.has("jsonl") ? enqueue_lines(in) : enqueue_one(in);
}

std::vector<Option> options() {
    return {
        {.name = "payload",
         .value = "TEXT",
         .what = "The payload. Others can read your command line: what is secret comes from a "
                 "file or standard input."},
        {.name = "payload-file",
         .value = "FILE",
         .what = "Where the payload is; - or nothing at all is standard input."},
        {.name = "content-type", .value = "TYPE", .what = "application/json by default."},
        {.name = "header", .value = "NAME=VALUE", .what = "A header.", .repeats = true},
        {.name = "message-id",
         .value = "ID",
         .what = "An id of your own; a second one is refused."},
        {.name = "correlation-id", .value = "ID", .what = "Carried along."},
        {.name = "tenant-id", .value = "ID", .what = "Carried along; scopes the idempotency key."},
        {.name = "idempotency-key",
         .value = "KEY",
         .what = "A second message with it is not stored."},
        {.name = "ordering-key",
         .value = "KEY",
         .what = "Messages of a key go one after the other."},
        {.name = "due-time", .value = "TIME", .what = "Not delivered before; RFC 3339."},
        {.name = "expires-at", .value = "TIME", .what = "Not delivered from then on; RFC 3339."},
        {.name = "priority", .value = "N", .what = "Above 0 goes first, below 0 last."},
        {.name = "jsonl",
         .what = "Read messages from standard input, one JSON object a line: topic, and payload "
                 "(any JSON) or payload_base64; all other fields as in the columns."},
        {.name = "batch",
         .value = "N",
         .what = "With --jsonl: so many messages in one transaction; 500."}};
}

}  // namespace

Command enqueue_command() {
    return {
        .name = "enqueue",
        .summary = "Put one message into the outbox, or many from standard input.",
        .details =
            "With --jsonl every batch is one transaction. A malformed line ends it with "
            "exit code 7 and names the line; batches before it are stored, its own "
            "batch is not. Lines with a message_id or an idempotency_key can simply be "
            "sent again. What the stdout sink writes can be read here.",
        .arguments = {{.name = "TOPIC", .what = "What the message is about.", .required = false}},
        .options = options(),
        .examples = {"postroom enqueue order.placed --payload '{\"order\":17}'",
                     "postroom enqueue --jsonl < orders.jsonl"},
        .prints = true,
        .changes = true,
        .run = &run_enqueue};
}

}  // namespace postroom::cli
