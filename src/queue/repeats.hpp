// Repeats: how often messages of each source came again, since this object was made.
//
// The sources that are told apart are bounded: the rest are counted together under an empty name,
// which no source can have.
//
// Thread safety: all of it may be called concurrently.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/operator.hpp"

namespace postroom {

inline constexpr std::size_t repeat_sources_max = 50;

class Repeats {
public:
    void note(const std::string& source, Repeat what);

    // In order of their names.
    std::vector<SourceRepeats> list() const;

private:
    mutable base::Mutex mutex_;
    std::map<std::string, SourceRepeats> sources_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom
