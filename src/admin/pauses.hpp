// Pausing topics of an outbox, each by its name or many by a pattern ('*' stands for any
// characters), and which are paused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postroom/operator.hpp"

namespace postroom::admin {

// The store's controls. Throws Error{misuse} for a store that has none.
StoreControls& controls(Store& store);

// In order of their names; none for a store without controls.
std::vector<PausedTopic> paused_topics(Store& store);
// The pause that holds back messages of this topic: its own, or else the first pattern that it
// matches. nullopt: nothing does.
std::optional<PausedTopic> pause_of(const std::vector<PausedTopic>& paused,
                                    const std::string& topic);

struct PauseChange {
    std::string store{};
    std::string topic{};
    bool wanted = false;      // what was asked for: paused or not
    bool was_paused = false;  // before
    bool dry_run = false;
    // The pattern that holds the topic back, whatever becomes of its own pause.
    std::optional<std::string> held_by{};
    // The paused topic that was probably meant by one that is to be resumed and is not paused.
    std::optional<std::string> nearest{};

    bool changed() const { return !dry_run && was_paused != wanted; }
    bool paused() const { return held_by || (dry_run ? was_paused : wanted); }
};

// Pauses the topic or the pattern, or resumes it, and lets the relays know. A pattern is resumed by
// the same text. A dry run only looks. Throws std::invalid_argument for a name that no topic can
// have.
PauseChange set_paused(Store& store, const std::string& topic, bool paused, bool dry_run = false);

}  // namespace postroom::admin
