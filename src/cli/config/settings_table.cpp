#include "cli/config/settings.hpp"

namespace postroom::cli {

namespace {

constexpr std::uint64_t day_ms = 24ULL * 3600 * 1000;

void add_store_settings(std::vector<Setting>& out) {
    out.insert(out.end(),
               {{.name = "stores.*.url",
                 .what = "Address of the database. POSTROOM_URL is short for stores.main.url.",
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
                 .what = "Keep delivered messages until they are purged.",
                 .kind = SettingKind::flag,
                 .default_value = "true"},
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

void add_route_settings(std::vector<Setting>& out) {
    out.insert(out.end(),
               {{.name = "sinks.*.type",
                 .what = "Kind of the destination; see the sinks below.",
                 .default_value = "stdout",
                 .required = true},
                {.name = "routes.*.topic",
                 .what = "Topics that this route takes; * stands for any characters. The first "
                         "route that matches counts.",
                 .default_value = "*",
                 .required = true},
                {.name = "routes.*.sink",
                 .what = "Name of the sink that they go to.",
                 .default_value = "",
                 .required = true}});
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
                           {.name = "relay.drain_timeout",
                            .what = "How long deliveries may take to finish when the relay stops.",
                            .kind = SettingKind::duration,
                            .default_value = "5s",
                            .most = day_ms},
                           {.name = "relay.connections_max",
                            .what = "Connections to all databases together.",
                            .kind = SettingKind::count,
                            .default_value = "64",
                            .least = 2,
                            .most = 100'000}});
}

void add_retry_settings(std::vector<Setting>& out) {
    out.insert(
        out.end(),
        {{.name = "relay.retry",
          .what = "How long to wait after a failed attempt.",
          .kind = SettingKind::choice,
          .default_value = "standard",
          .choices = {"standard", "fast", "minutes", "steady", "steady_exponential"}},
         {.name = "relay.max_attempts",
          .what = "Deliveries in total before a message is dead; 0: as the retry policy says.",
          .kind = SettingKind::count,
          .default_value = "0",
          .most = 1'000'000},
         {.name = "relay.crash_limit",
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

}  // namespace

const std::vector<Setting>& program_settings() {
    static const std::vector<Setting> all = [] {
        std::vector<Setting> out;
        add_store_settings(out);
        add_route_settings(out);
        add_dispatch_settings(out);
        add_retry_settings(out);
        add_log_settings(out);
        return out;
    }();
    return all;
}

}  // namespace postroom::cli
