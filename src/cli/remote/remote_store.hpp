// RemoteStore: a store of a running relay, reached through its admin server. For the commands that
// look and steer; what workers and writers do is refused.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admin/bulk.hpp"
#include "cli/remote/api_client.hpp"
#include "postroom/store.hpp"

namespace postroom::cli {

// The names of the relay's stores. Throws Failure.
std::vector<std::string> remote_store_names(const ApiClient& client);

// RemoteUseCases: what a relay does by itself, where another store is told each message.
class RemoteUseCases {
public:
    virtual ~RemoteUseCases() = default;

    // As admin::find_group(): a relay knows its fingerprints, also one of another version.
    virtual FoundPage find_group(Queue queue, const Query& query, const std::string& fingerprint,
                                 Duration patience) = 0;

    // As admin::change_matching(), by one operation of the relay. A stop cancels that.
    virtual admin::BulkResult change_matching(Queue queue, admin::Change change,
                                              const Query& filter,
                                              const admin::BulkOptions& options) = 0;
};

// Its operations throw Failure as the client does. It is a RemoteUseCases too.
std::unique_ptr<Store> open_remote_store(const std::string& url, const std::string& name);

}  // namespace postroom::cli
