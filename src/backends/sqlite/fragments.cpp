#include "backends/sqlite/fragments.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.hpp"

namespace postroom::sqlite {

namespace {

using Fragment = std::pair<std::string_view, std::string_view>;

// julianday has milliseconds; 'now' is the same wherever it stands in one execution of a statement.
constexpr std::array fragments{
    Fragment{"now", "(CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)"},
    Fragment{"message",
             "nonce, created_at, priority, max_attempts, occurred_at, due_time, expires_at, "
             "message_id, topic, "
             "tenant_id, correlation_id, idempotency_key, aggregate_type, aggregate_id, "
             "ordering_key, source, "
             "hash, content_type, headers, payload"},
    Fragment{"scheduled_message",
             "nonce, created_at, :priority, max_attempts, occurred_at, :due_time, expires_at, "
             "message_id, topic, "
             "tenant_id, correlation_id, idempotency_key, aggregate_type, aggregate_id, "
             ":ordering_key, source, "
             "hash, content_type, headers, payload"},
    // When a new message for later falls due: an expired one does not wait.
    Fragment{"capped_due_time",
             "min(coalesce(:due_time, created_at), "
             "coalesce(expires_at, :due_time, created_at))"},
    // The same for one that arrived again.
    Fragment{"renewed_due_time",
             "min(max(coalesce(:due_time, @now), @now), "
             "coalesce(:expires_at, max(coalesce(:due_time, @now), @now)))"},
    Fragment{"these",
             "m.seq IN (SELECT value FROM json_each(:seqs)) AND m.nonce IN (SELECT value FROM "
             "json_each(:nonces))"},
    Fragment{"this", "m.seq = :seq AND m.nonce = :nonce"},
    // 8: RowRun::width. Bytes, because the place of a character in a text has to be counted;
    // compared as text, because digits among bytes would be read in the encoding of the file.
    Fragment{"run",
             "m.seq BETWEEN :first AND :last AND printf('%016X', m.nonce) = "
             "hex(substr(:nonces, 8 * (m.seq - :first) + 1, 8))"},
    // Asked once for all rows of a statement. A join: a subquery opens its table for each row.
    Fragment{"run_held",
             "(SELECT count(*) FROM {live} AS m LEFT JOIN {lease} AS l ON l.seq = m.seq WHERE @run "
             "AND (l.lease_id = :lease_id OR (l.seq IS NULL AND m.lease_id = :lease_id))) "
             "= :last - :first + 1"},
    Fragment{"free", "NOT EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = m.seq)"},
    Fragment{"held",
             "EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = m.seq AND l.lease_id = :lease_id)"},
    Fragment{"live_held",
             "(EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = m.seq AND l.lease_id = :lease_id) "
             "OR (m.lease_id = :lease_id AND NOT EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = "
             "m.seq)))"},
    Fragment{"keyed",
             "(m.seq, m.nonce) = (SELECT seq, nonce FROM {key} WHERE source = :source AND "
             "message_id = :message_id)"},
};

bool in_word(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

std::string_view fragment_of(std::string_view word) {
    const auto* const found = std::find_if(fragments.begin(), fragments.end(),
                                           [&](const Fragment& f) { return f.first == word; });
    POSTROOM_ASSERT(found != fragments.end());
    return found->second;
}

}  // namespace

std::string weave(std::string_view text) {
    std::string out;
    for (;;) {
        const std::size_t at = text.find('@');
        out.append(text.substr(0, at));
        if (at == std::string_view::npos) return out;
        text.remove_prefix(at + 1);
        const auto* const end = std::find_if_not(text.begin(), text.end(), in_word);
        const auto length = static_cast<std::size_t>(end - text.begin());
        out.append(weave(fragment_of(text.substr(0, length))));
        text.remove_prefix(length);
    }
}

std::vector<std::string> weave_all(const std::vector<std::string_view>& texts) {
    std::vector<std::string> out;
    out.reserve(texts.size());
    for (const std::string_view text : texts) out.push_back(weave(text));
    return out;
}

}  // namespace postroom::sqlite
