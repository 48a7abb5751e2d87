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
#include "cli/input/payload_check.hpp"
#include "cli/input/read_all.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"
#include "daemon/program_tracing.hpp"

namespace postroom::cli {

namespace {

constexpr std::int64_t batch_max = 10'000;

// Somebody at a terminal would take the silence for work.
void say_what_is_awaited(std::string_view what) {
    if (::isatty(STDIN_FILENO) == 1) complain(what);
}

// A folder, a closed descriptor or a broken disk is not an empty payload.
std::string read_payload(const Invocation& in) {
    if (in.has("payload")) return in.value("payload");
    const std::string file = in.value("payload-file", "-");
    if (file == "-") {
        say_what_is_awaited(
            "the payload is read from the terminal until Ctrl-D; --payload gives it");
        return read_all(STDIN_FILENO, "standard input");
    }
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

void warn_about_payload(const NewMessage& message) {
    const std::string fault = payload_fault(message);
    if (!fault.empty())
        complain(fmt::format(
            "warning: {}; --content-type says what it is, such as {}", fault,
            message.content_type.starts_with("text/") ? "application/octet-stream" : "text/plain"));
}

// EnqueueSpans: the spans of what this command enqueues, where the environment asks for them.
class EnqueueSpans {
public:
    EnqueueSpans()
        : tracing_(settings(), &warn_about_spans),
          observers_{&default_observer(), &tracing_.observer()} {}

    // The outbox must not outlive this.
    OutboxOptions outbox_options() {
        return {.queue = {.observer = &observers_}, .tracing = tracing_.stamps()};
    }

private:
    static std::optional<OtlpSettings> settings() {
        std::vector<std::string> warnings;
        std::optional<OtlpSettings> found = daemon::tracing_settings(warnings);
        for (const std::string& warning : warnings) complain("warning: " + warning);
        return found;
    }
    static void warn_about_spans(LogLevel level, std::string_view text) {
        if (level >= LogLevel::warning) complain(fmt::format("warning: {}", text));
    }

    daemon::ProgramTracing tracing_;
    Observers observers_;
};

Written enqueue(const Config& config, const daemon::StorePlan& plan, Store& store,
                const NewMessage& message) {
    EnqueueSpans spans;
    try {
        return MessageWriter(store, spans.outbox_options()).enqueue_all({&message, 1}).front();
    } catch (const Error& error) {
        rethrow_write_error(config, plan, error);
    }
}

std::string json_of(const Written& written) {
    JsonObject out;
    out.add("id", written.id.to_string());
    if (written.message_id) out.add("message_id", written.message_id->str());
    if (written.already_existed) out.add("already_existed", *written.already_existed);
    return out.text() + "\n";
}

std::string text_of(const Written& written) {
    std::string out = written.id.to_string();
    if (written.message_id) out += " " + printable(written.message_id->str());
    if (written.already_existed.value_or(false)) out += " (was there already)";
    return out + "\n";
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
    warn_about_payload(message);
    const std::unique_ptr<Store> store = open_for_writing(config, plan);
    const Written written = enqueue(config, plan, *store, message);
    print(in.json() ? json_of(written) : text_of(written));
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
    EnqueueSpans spans;
    std::optional<MessageWriter> writer;
    if (!in.dry_run()) {
        store = open_for_writing(config, plan);
        writer.emplace(*store, spans.outbox_options());
    }
    say_what_is_awaited("messages are read from the terminal, one a line, until Ctrl-D");
    std::ios::sync_with_stdio(false);
    LineEnqueuer enqueuer(writer ? &*writer : nullptr, plan.options.limits, batch, input_bytes());
    try {
        enqueuer.run(std::cin);
    } catch (const Error& error) {
        rethrow_write_error(config, plan, error);
    }
    if (in.json()) {
        print(JsonObject()
                  .add("enqueued", enqueuer.enqueued())
                  .add("already_existed", enqueuer.existed())
                  .add("dry_run", in.dry_run())
                  .text() +
              "\n");
    } else {
        print(fmt::format(
            "{}{}{}\n", in.dry_run() ? "would enqueue " : "enqueued ",
            counted(enqueuer.enqueued(), "message"),
            enqueuer.existed() > 0 ? fmt::format("; already there: {}", enqueuer.existed()) : ""));
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
         .what = "Read the payload from this file; - (the default) is standard input."},
        {.name = "content-type",
         .value = "TYPE",
         .what = "The content type; application/json by default."},
        {.name = "header", .value = "NAME=VALUE", .what = "Add a header.", .repeats = true},
        {.name = "message-id",
         .value = "ID",
         .what = "An id of your own. A second message with it is not stored; the first one's ids "
                 "are printed."},
        {.name = "correlation-id", .value = "ID", .what = "Sent along with the message."},
        {.name = "tenant-id", .value = "ID", .what = "The tenant; idempotency keys are its own."},
        {.name = "idempotency-key",
         .value = "KEY",
         .what = "A second message with the same key is not stored."},
        {.name = "ordering-key",
         .value = "KEY",
         .what = "Messages with the same key are delivered one at a time, in order."},
        {.name = "due-time", .value = "TIME", .what = "Do not deliver it earlier; RFC 3339."},
        {.name = "expires-at", .value = "TIME", .what = "Do not deliver it later; RFC 3339."},
        {.name = "priority", .value = "N", .what = "Higher goes first; 0 by default."},
        {.name = "jsonl",
         .what = "Read messages from standard input, one JSON object a line: topic, and payload "
                 "(any JSON) or payload_base64; all other fields as in the columns."},
        {.name = "batch",
         .value = "N",
         .what = "With --jsonl: messages per transaction; 500 by default."}};
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
        .surplus = "; the payload comes with --payload",
        .options = options(),
        .examples = {"postroom enqueue order.placed --payload '{\"order\":17}'",
                     "postroom enqueue --jsonl < orders.jsonl"},
        .prints = true,
        .changes = true,
        .run = &run_enqueue};
}

}  // namespace postroom::cli
