#include "suite/floors/postgres_listener.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace bench {
namespace {

constexpr Oid uuid_oid = 2950;

constexpr const char* send_sql = R"sql(
WITH told AS (SELECT pg_notify('message', ''))
INSERT INTO message (id, topic, payload)
SELECT gen_random_uuid(), 'order.placed', jsonb_build_object('number', $1::bigint, 'fill', repeat('.', 160))
  FROM told)sql";

constexpr const char* claim_sql = R"sql(
UPDATE message m SET status = 1, lease_until = now() + interval '30 s', attempts = attempts + 1
  FROM (SELECT id FROM message WHERE status = 0 AND due_at <= now()
         ORDER BY due_at, seq LIMIT 100 FOR UPDATE SKIP LOCKED) chosen
 WHERE m.id = chosen.id RETURNING m.id, (m.payload ->> 'number')::bigint)sql";

// Returns false when standard input has ended.
bool wait_for_notification(PGconn* connection) {
    for (;;) {
        PQconsumeInput(connection);
        if (PGnotify* const told = PQnotifies(connection)) {
            PQfreemem(told);
            return true;
        }
        std::array<pollfd, 2> ends{{{.fd = PQsocket(connection), .events = POLLIN, .revents = 0},
                                    {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
        poll(ends.data(), ends.size(), -1);
        if (ends[1].revents != 0) return false;
    }
}

}  // namespace

NotifyingWriter::NotifyingWriter(const std::string& url) : connection_(url) {
    connection_.prepare("send", send_sql);
}

void NotifyingWriter::send(std::size_t number) {
    connection_.run("send", {encode(static_cast<std::int64_t>(number))});
}

void listen_by_hand(const std::string& url, const std::function<void()>& ready,
                    const std::function<void(std::size_t number)>& handle) {
    Connection connection(url);
    connection.prepare("claim", claim_sql);
    connection.prepare("ack", "DELETE FROM message WHERE id = ANY ($1::uuid[])");
    connection.execute("LISTEN message");
    ready();
    while (wait_for_notification(connection.native())) {
        const Result claimed = connection.run("claim", {});
        std::vector<std::string> ids;
        for (int row = 0; row < PQntuples(claimed.get()); ++row) {
            ids.emplace_back(PQgetvalue(claimed.get(), row, 0),
                             static_cast<std::size_t>(PQgetlength(claimed.get(), row, 0)));
            handle(static_cast<std::size_t>(decode_int64(claimed.get(), row, 1)));
        }
        if (!ids.empty()) connection.run("ack", {encode(ids, uuid_oid)});
    }
}

}  // namespace bench
