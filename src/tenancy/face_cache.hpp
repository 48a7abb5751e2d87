// FaceCache: one Outbox or Inbox for each store of a provider, made when it is first asked for.
//
// Thread safety: may be shared.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "postroom/error.hpp"
#include "postroom/store_provider.hpp"

namespace postroom {

template <class Face, class Options>
class FaceCache {
public:
    FaceCache(StoreProvider& stores, const Options& options) : stores_(stores), options_(options) {}

    std::shared_ptr<const Face> hold(std::string_view key) {
        const StorePtr store = stores_.find(key);
        const base::MutexLock lock(mutex_);
        const auto found = faces_.find(key);
        if (store == nullptr) {
            if (found != faces_.end()) faces_.erase(found);
            throw Error(ErrorKind::misuse, "there is no store '" + std::string(key) + "'");
        }
        // One that was replaced under the same id is another store.
        if (found != faces_.end() && found->second->store == store) return face_of(found->second);
        return face_of(faces_[std::string(key)] = std::make_shared<Held>(store, options_));
    }

private:
    // The face goes before the store that it stands on.
    struct Held {
        Held(StorePtr given, const Options& options)
            : store(std::move(given)), face(*store, options) {}
        const StorePtr store;
        const Face face;
    };
    static std::shared_ptr<const Face> face_of(const std::shared_ptr<Held>& held) {
        return {held, &held->face};
    }

    StoreProvider& stores_;
    const Options options_;

    base::Mutex mutex_;
    std::map<std::string, std::shared_ptr<Held>, std::less<>> faces_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom
