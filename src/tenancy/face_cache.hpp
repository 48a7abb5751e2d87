// FaceCache: one Outbox or Inbox for each store of a provider, made when it is first asked for.
//
// Thread safety: may be shared.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/error.hpp"
#include "postroom/tenancy.hpp"

namespace postroom {

template <class Face, class Options>
class FaceCache {
public:
    FaceCache(StoreProvider& stores, const Options& options) : stores_(stores), options_(options) {}

    std::shared_ptr<const Face> hold(std::string_view given) {
        const std::string key = id_of(given);
        std::vector<std::shared_ptr<Held>> gone;  // they end after the lock
        const base::MutexLock lock(mutex_);
        // Under the lock, so that no answer is older than the face it decides about.
        const StorePtr store = stores_.find(key);
        const auto found = faces_.find(key);
        // One that was replaced under the same id is another store.
        if (store != nullptr && found != faces_.end() && found->second->store == store)
            return face_of(found->second);
        drop_faces_of_removed_stores(gone);
        if (store == nullptr) throw Error(ErrorKind::misuse, "there is no store '" + key + "'");
        return face_of(faces_[key] = std::make_shared<Held>(store, options_));
    }

private:
    // The id of the store that a key names: the key itself, or where both are UUIDs the same in
    // whatever case.
    std::string id_of(std::string_view key) const {
        const std::optional<Uuid> uuid = Uuid::parse(key);
        if (!uuid || stores_.find(key) != nullptr) return std::string(key);
        for (const StorePtr& store : stores_.stores())
            if (Uuid::parse(store->id()) == uuid) return store->id();
        return std::string(key);
    }

    // The face goes before the store that it stands on.
    struct Held {
        Held(StorePtr given, const Options& options)
            : store(std::move(given)), face(*store, options) {}
        const StorePtr store;
        const Face face;
    };
    void drop_faces_of_removed_stores(std::vector<std::shared_ptr<Held>>& gone)
        POSTROOM_REQUIRES(mutex_) {
        for (auto at = faces_.begin(); at != faces_.end();) {
            if (stores_.find(at->first) == at->second->store) {
                ++at;
            } else {
                gone.push_back(std::move(at->second));
                at = faces_.erase(at);
            }
        }
    }
    static std::shared_ptr<const Face> face_of(const std::shared_ptr<Held>& held) {
        return {held, &held->face};
    }

    StoreProvider& stores_;
    const Options options_;

    base::Mutex mutex_;
    std::map<std::string, std::shared_ptr<Held>, std::less<>> faces_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom
