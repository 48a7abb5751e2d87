#include "cli/config/settings.hpp"
#include "postroom/send_rate.hpp"

namespace postroom::cli {

namespace {

constexpr std::uint64_t day_ms = 24ULL * 3600 * 1000;

void add_store_settings(std::vector<Setting>& out) {
    out.insert(
        out.end(),
        {{.name = "stores.*.url",
          .what =
              "Address of the database. POSTROOM_URL is short for stores.main.url. A new SQLite "
              "file is for its owner alone (0600). To another machine TLS is on and the server is "
              "verified; ?sslmode= and ?sslrootcert= (PostgreSQL), ?ssl-mode= and ?ssl-ca= "
              "(MariaDB and MySQL) behind the address say otherwise. They take several hosts with "
              "commas between them, for fail-over.",
          .kind = SettingKind::url,
          .default_value = "sqlite:postroom.db",
          .required = true},
         {.name = "stores.*.schema",
          .what = "Schema that holds the tables; SQLite has none.",
          .default_value = "infra",
          .required = true},
         {.name = "stores.*.outbox_table",
          .what = "What the names of the outbox's tables begin with.",
          .default_value = "outbox",
          .required = true},
         {.name = "stores.*.inbox_table",
          .what = "What the names of the inbox's tables begin with.",
          .default_value = "inbox",
          .required = true},
         {.name = "stores.*.deploy_schema",
          .what = "Create or upgrade the schema when the store is opened. Always so for the "
                  "postroom.db that is used when nothing is configured.",
          .kind = SettingKind::flag,
          .default_value = "false"},
         {.name = "stores.*.keep_history",
          .what = "Keep delivered messages until they are purged. False: those of the outbox are "
                  "gone when they are delivered, and the inbox keeps no payload of what is done.",
          .kind = SettingKind::flag,
          .default_value = "true"},
         {.name = "stores.*.old_failure_attempts",
          .what = "From so many failed attempts on, a message that is still tried is counted "
                  "among the old failures.",
          .kind = SettingKind::count,
          .default_value = "5",
          .least = 1,
          .most = 1'000'000},
         {.name = "stores.*.pooled",
          .what = "The address is a transaction pooler (PgBouncer).",
          .kind = SettingKind::flag,
          .default_value = "false"},
         {.name = "stores.*.max_payload_bytes",
          .what = "Larger payloads are refused when they are enqueued.",
          .kind = SettingKind::count,
          .default_value = "1048576",
          .least = 1,
          .most = 2'000'000'000},
         {.name = "stores.*.max_error_chars",
          .what = "Longer texts of failures are cut when they are stored.",
          .kind = SettingKind::count,
          .default_value = "4000",
          .least = 1,
          .most = 1'000'000},
         {.name = "stores.*.pool_max",
          .what = "Connections to this database at most.",
          .kind = SettingKind::count,
          .default_value = "16",
          .least = 1,
          .most = 1000},
         {.name = "stores.*.connect_timeout",
          .what = "How long one attempt to connect may take.",
          .kind = SettingKind::duration,
          .default_value = "10s",
          .least = 1,
          .most = day_ms},
         {.name = "stores.*.statement_timeout",
          .what = "How long one statement may take, lock waits included.",
          .kind = SettingKind::duration,
          .default_value = "30s",
          .least = 1,
          .most = day_ms}});
}

const std::vector<std::string> retry_choices{"standard", "fast", "minutes", "steady",
                                             "steady_exponential"};

// How failed attempts are repeated, for the relay, a single sink and a single route.
void add_policy_settings(std::vector<Setting>& out, const std::string& at,
                         const std::string& preset, const std::string& whose) {
    const auto add = [&](const std::string& name, const std::string& what, Setting like) {
        like.name = at + name;
        like.what = what + whose;
        out.push_back(std::move(like));
    };
    add("retry", "How long to wait after a failed attempt.",
        {.kind = SettingKind::choice, .default_value = preset, .choices = retry_choices});
    add("retry_base", "The wait after the first failure, in place of the policy's.",
        {.kind = SettingKind::duration, .least = 1, .most = 3650 * day_ms});
    add("retry_factor", "What the wait is multiplied by after each further failure; 1: constant.",
        {.kind = SettingKind::decimal, .least = 1, .most = 1000});
    add("retry_cap", "The longest wait.",
        {.kind = SettingKind::duration, .least = 1, .most = 3650 * day_ms});
    add("retry_jitter",
        "How much the wait varies at random: 0.5 is half as long to half as long again; below 1.",
        {.kind = SettingKind::decimal, .least = 0, .most = 1});
    add("max_attempts",
        "Deliveries in total before a message is dead; 0: as the retry policy says.",
        {.kind = SettingKind::count,
         .default_value = preset.empty() ? "" : "0",
         .most = 1'000'000});
}

void add_route_settings(std::vector<Setting>& out) {
    out.insert(out.end(),
               {{.name = "sinks.*.type",
                 .what = "Kind of the destination; see the sinks below.",
                 .default_value = "stdout",
                 .required = true},
                {.name = "sinks.*.rate",
                 .what = "At most this many messages a second, such as 10 or 0.5; 0: no limit. "
                         "The excess waits in the database, without an attempt.",
                 .kind = SettingKind::decimal,
                 .default_value = "0",
                 .most = static_cast<std::uint64_t>(SendRate::per_second_max)},
                {.name = "routes.*.topic",
                 .what = "Topics that this route takes; * stands for any characters. The first "
                         "route that matches counts.",
                 .default_value = "*",
                 .required = true},
                {.name = "routes.*.sink",
                 .what = "Name of the sink that they go to.",
                 .default_value = "",
                 .required = true}});
    add_policy_settings(out, "sinks.*.", "", " Of this sink; if not given, as for the relay.");
    add_policy_settings(out, "routes.*.", "", " Of this route; if not given, as for its sink.");
}

void add_dispatch_settings(std::vector<Setting>& out) {
    out.insert(out.end(), {{.name = "relay.worker_count",
                            .what = "Batches that are on their way at the same time.",
                            .kind = SettingKind::count,
                            .default_value = "4",
                            .least = 1,
                            .most = 256},
                           {.name = "relay.batch",
                            .what = "Messages per claim, and at most in one delivery to a sink.",
                            .kind = SettingKind::count,
                            .default_value = "50",
                            .least = 1,
                            .most = 10'000},
                           {.name = "relay.claim_bytes",
                            .what = "Payloads and headers per claim, in bytes. Nothing is claimed "
                                    "while as much waits to be sent.",
                            .kind = SettingKind::count,
                            .default_value = "33554432",
                            .least = 1,
                            .most = 1'073'741'824},
                           {.name = "relay.capacity",
                            .what = "Messages claimed from one store and not yet on their way.",
                            .kind = SettingKind::count,
                            .default_value = "1000",
                            .least = 1,
                            .most = 1'000'000},
                           {.name = "relay.lease",
                            .what = "How long a message stays with a relay that is gone.",
                            .kind = SettingKind::duration,
                            .default_value = "30s",
                            .least = 100,
                            .most = day_ms},
                           {.name = "relay.poll_interval_max",
                            .what = "How often an idle store is looked at when nobody rings.",
                            .kind = SettingKind::duration,
                            .default_value = "5s",
                            .least = 1,
                            .most = day_ms},
                           {.name = "relay.wake_ups",
                            .what = "Listen for writers who ring; without, the relay only polls.",
                            .kind = SettingKind::flag,
                            .default_value = "true"},
                           {.name = "relay.on_close",
                            .what = "What becomes of messages that were claimed and not started "
                                    "when the relay stops: released for others, or delivered "
                                    "within drain_timeout.",
                            .kind = SettingKind::choice,
                            .default_value = "release",
                            .choices = {"release", "drain"}},
                           {.name = "relay.drain_timeout",
                            .what = "How long deliveries may take to finish when the relay stops.",
                            .kind = SettingKind::duration,
                            .default_value = "5s",
                            .most = day_ms},
                           {.name = "relay.restore_guard",
                            .what = "Hold delivery when a database looks restored or copied, until "
                                    "'postroom restore' has decided.",
                            .kind = SettingKind::flag,
                            .default_value = "true"},
                           {.name = "relay.state_dir",
                            .what = "Folder in which the relay remembers how far its databases "
                                    "were, to notice one that was put back in place. Empty: "
                                    "$STATE_DIRECTORY, which the packaged service has; else none.",
                            .default_value = ""},
                           {.name = "relay.connections_max",
                            .what = "Connections to all databases together.",
                            .kind = SettingKind::count,
                            .default_value = "64",
                            .least = 2,
                            .most = 100'000}});
}

void add_retry_settings(std::vector<Setting>& out) {
    add_policy_settings(out, "relay.", "standard", "");
    out.insert(
        out.end(),
        {{.name = "relay.crash_limit",
          .what = "How often a relay may die over a message before that is dead.",
          .kind = SettingKind::count,
          .default_value = "3",
          .least = 1,
          .most = 1000},
         {.name = "relay.unroutable",
          .what = "What becomes of a message that no route takes.",
          .kind = SettingKind::choice,
          .default_value = "retry",
          .choices = {"retry", "dead", "hold"}},
         {.name = "relay.hold_delay",
          .what = "How long a message of a paused topic, or one that is held, rests before it is "
                  "looked at again.",
          .kind = SettingKind::duration,
          .default_value = "15s",
          .least = 100,
          .most = day_ms},
         {.name = "relay.retention",
          .what = "How long delivered messages are kept; 0: the relay does not purge.",
          .kind = SettingKind::duration,
          .default_value = "7d",
          .most = 3650 * day_ms},
         {.name = "relay.inbox_retention",
          .what = "How long done messages of the inbox are kept after they were last seen: so long "
                  "are they known as processed. 0: the relay does not purge them.",
          .kind = SettingKind::duration,
          .default_value = "30d",
          .most = 3650 * day_ms},
         {.name = "relay.dead_retention",
          .what = "How long after they were enqueued dead messages are discarded; 0: never.",
          .kind = SettingKind::duration,
          .default_value = "0s",
          .most = 3650 * day_ms}});
}

void add_log_settings(std::vector<Setting>& out) {
    out.insert(out.end(), {{.name = "log.level",
                            .what = "The least important lines that are written.",
                            .kind = SettingKind::choice,
                            .default_value = "info",
                            .choices = {"debug", "info", "warning", "error"}},
                           {.name = "log.format",
                            .what = "auto: text on a terminal, JSON lines elsewhere.",
                            .kind = SettingKind::choice,
                            .default_value = "auto",
                            .choices = {"auto", "json", "text"}},
                           {.name = "log.per_message",
                            .what = "Write the INFO lines that come for every message.",
                            .kind = SettingKind::flag,
                            .default_value = "true"}});
}

void add_admin_settings(std::vector<Setting>& out) {
    out.insert(
        out.end(),
        {{.name = "admin.listen",
          .what = "Where the relay serves the admin API, metrics and health: an address and "
                  "a port. Empty: nowhere. An address that is not on this machine needs a "
                  "token.",
          .default_value = "127.0.0.1:8025"},
         {.name = "admin.anonymous",
          .what = "What callers without a token may do, while there are no tokens: whoever is on "
                  "this machine. Requests that came through a proxy are refused then.",
          .kind = SettingKind::choice,
          .default_value = "viewer",
          .choices = {"none", "viewer", "operator", "payload-viewer", "admin"}},
         {.name = "admin.hosts",
          .what = "Names by which the server is reached, besides those of this machine: that "
                  "of a proxy in front of it.",
          .kind = SettingKind::list},
         {.name = "admin.connections_max",
          .what = "Connections at most; beyond it the one that waits for longest is closed "
                  "for a new one.",
          .kind = SettingKind::count,
          .default_value = "512",
          .least = 4,
          .most = 100'000},
         {.name = "admin.request_timeout",
          .what = "How long the headers of a request may take to arrive, and its body.",
          .kind = SettingKind::duration,
          .default_value = "10s",
          .least = 100,
          .most = 3'600'000},
         {.name = "admin.requests_per_second",
          .what = "Requests of one token, or of one address without a token; four times as "
                  "many at once.",
          .kind = SettingKind::count,
          .default_value = "50",
          .least = 1,
          .most = 1'000'000},
         {.name = "admin.wrong_tokens_per_minute",
          .what = "Wrong tokens from one address before it is refused for a while.",
          .kind = SettingKind::count,
          .default_value = "20",
          .least = 1,
          .most = 1'000'000},
         {.name = "tokens.*.sha256",
          .what = "SHA-256 of a token for the admin API, as 'postroom token new' prints it.",
          .required = true},
         {.name = "tokens.*.role",
          .what = "What its bearer may do.",
          .kind = SettingKind::choice,
          .default_value = "viewer",
          .choices = {"viewer", "operator", "payload-viewer", "admin"}},
         {.name = "tokens.*.expires_at",
          .what = "From then on it is refused, such as 2027-01-31T00:00:00Z. Empty: never."}});
}

void add_health_settings(std::vector<Setting>& out) {
    const auto count = [&](const char* name, const char* what, const char* usual,
                           std::uint64_t most) {
        out.push_back({.name = name,
                       .what = what,
                       .kind = SettingKind::count,
                       .default_value = usual,
                       .most = most});
    };
    const auto age = [&](const char* name, const char* what, const char* usual) {
        out.push_back({.name = name,
                       .what = what,
                       .kind = SettingKind::duration,
                       .default_value = usual,
                       .most = 3650 * day_ms});
    };
    constexpr std::uint64_t messages_max = 1'000'000'000'000;
    count("health.backlog_degraded",
          "From so many waiting messages on /health says degraded; 0: never.", "100000",
          messages_max);
    count("health.backlog_unhealthy", "From so many on it says unhealthy; 0: never.", "0",
          messages_max);
    age("health.oldest_age_degraded", "Age of the oldest waiting message; 0: not looked at.", "5m");
    age("health.oldest_age_unhealthy", "The same for unhealthy.", "1h");
    count("health.failed_percent_degraded",
          "Deliveries of the last minute that failed; 0: not looked at.", "10", 100);
    count("health.failed_percent_unhealthy", "The same for unhealthy.", "50", 100);
    age("health.circuit_open_degraded", "How long a destination is down; 0: not looked at.", "1m");
    age("health.circuit_open_unhealthy", "The same for unhealthy.", "15m");
}

}  // namespace

const std::vector<Setting>& program_settings() {
    static const std::vector<Setting> all = [] {
        std::vector<Setting> out;
        add_store_settings(out);
        add_route_settings(out);
        add_dispatch_settings(out);
        add_retry_settings(out);
        add_log_settings(out);
        add_admin_settings(out);
        add_health_settings(out);
        return out;
    }();
    return all;
}

}  // namespace postroom::cli
