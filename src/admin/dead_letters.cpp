#include "admin/dead_letters.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "base/utf8.hpp"

namespace postroom::admin {

namespace {

constexpr std::uint32_t page_size = 500;
constexpr std::size_t common_chars_max = 300;
constexpr std::size_t fingerprint_bytes = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

void count_death(DeadLetterGroup& group, const Message& message, Instant now) {
    if (!message.died_at) return;  // not known of messages that died under an old schema
    const Duration ago = std::max(Duration::zero(), now - *message.died_at);
    const auto hours = static_cast<std::size_t>(ago / std::chrono::hours{1});
    if (hours < group.deaths_by_hour.size())
        ++group.deaths_by_hour[group.deaths_by_hour.size() - 1 - hours];
}

void add(std::map<std::string, DeadLetterGroup>& groups, Message message, Instant now) {
    DeadLetterGroup& group = groups[fingerprint_of(message)];
    if (group.count++ == 0) {  // the newest comes first
        group.error = common_error(message.last_error);
        group.first_created = group.last_created = message.created_at;
    }
    ++group.topics[message.topic];
    count_death(group, message, now);
    group.first_created = std::min(group.first_created, message.created_at);
    group.last_created = std::max(group.last_created, message.created_at);
    if (group.count == 1) group.newest = std::move(message);
}

}  // namespace

std::string common_error(std::string_view error) {
    std::string out;
    for (std::size_t i = 0; i < error.size();) {
        const char c = error[i];
        const std::size_t closing =
            c == '\'' || c == '"' ? error.find(c, i + 1) : std::string_view::npos;
        if (closing != std::string_view::npos) {
            out += c;
            out += '#';
            out += c;
            i = closing + 1;
        } else if (is_word(c)) {
            const std::size_t begin = i;
            while (i < error.size() && is_word(error[i])) ++i;
            const std::string_view word = error.substr(begin, i - begin);
            // An id has digits in it; a status code of HTTP is a digit word too, and tells apart.
            const bool differs = std::ranges::any_of(word, is_digit) && word.size() != 3;
            out += differs ? std::string_view("#") : word;
        } else {
            out += c;
            ++i;
        }
    }
    return base::shortened(out, common_chars_max);
}

std::string fingerprint_of(const Message& message) {
    const base::Sha256Digest digest = base::sha256(std::string(to_string(message.dead_reason)) +
                                                   '\n' + common_error(message.last_error));
    return base::hex_encode(std::span(digest).first(fingerprint_bytes));
}

bool is_fingerprint(std::string_view text) {
    return text.size() == 2 * fingerprint_bytes &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Query group_filter(Query filter) {
    if (!filter.state.empty() && filter.state != StateSet(State::dead))
        throw std::invalid_argument("only dead messages have a fingerprint");
    filter.state = State::dead;
    return filter;
}

FoundPage find_group(Store& store, Queue queue, Query query, const std::string& fingerprint,
                     Duration patience) {
    const auto begun = std::chrono::steady_clock::now();
    const std::uint32_t wanted = std::exchange(query.limit, page_size);
    query = group_filter(std::move(query));
    FoundPage out;
    Duration left = patience;
    while (left > Duration::zero()) {
        FoundPage found = store.find_within(queue, query, left);
        // Messages of the inbox that were never queued have no number, and no cursor leads past
        // them: the page grows until it does.
        const bool full = found.messages.size() == query.limit;
        std::erase_if(found.messages, [](const Message& m) { return m.id.seq() == 0; });
        for (Message& message : found.messages) {
            if (fingerprint_of(message) != fingerprint) continue;
            out.next_seq = message.id.seq();
            out.messages.push_back(std::move(message));
            if (out.messages.size() == wanted) return out;
        }
        out.next_seq = found.next_seq;
        if (out.next_seq)
            (query.newest_first ? query.before_seq : query.after_seq) = *out.next_seq;
        else if (full && found.messages.empty())
            query.limit *= 2;
        else
            return out;
        if (patience != Duration::max())
            left = patience -
                   std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun);
    }
    return out;
}

DeadLetters dead_letters(Store& store, Queue queue, std::uint64_t examined_max,
                         const std::stop_token& stop) {
    std::map<std::string, DeadLetterGroup> groups;
    DeadLetters out;
    const Instant now = store.now();
    Query query{.state = State::dead, .newest_first = true, .limit = page_size, .payloads = false};
    while (true) {
        std::vector<Message> found = store.find(queue, query);
        const bool last = found.size() < query.limit;
        for (Message& message : found) {
            query.before_seq = message.id.seq();
            add(groups, std::move(message), now);
        }
        out.examined += found.size();
        if (last) break;
        if (out.examined >= examined_max || query.before_seq == 0 || stop.stop_requested()) {
            out.complete = false;
            break;
        }
    }
    for (auto& [fingerprint, group] : groups) {
        group.fingerprint = fingerprint;
        out.groups.push_back(std::move(group));
    }
    std::ranges::stable_sort(out.groups, std::ranges::greater{}, &DeadLetterGroup::count);
    return out;
}

}  // namespace postroom::admin
