// ReceiverTest: the rules of the Receiver, which hold on every store. A store joins by
// instantiating the suite with a StoreKind.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "postroom/inbox.hpp"
#include "postroom/store.hpp"
#include "postroom/testing.hpp"
#include "webhooks/messages.hpp"

namespace postroom::test {

// Keeps alive whatever the store needs.
class OpenStore {
public:
    virtual ~OpenStore() = default;
    virtual Store& store() = 0;
};

struct StoreKind {
    std::string name;
    std::function<std::unique_ptr<OpenStore>()> open;
};

inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

class ReceiverTest : public testing::TestWithParam<StoreKind> {
protected:
    webhooks::Receipt receive(const std::vector<webhooks::Header>& headers,
                              std::string_view text = body) {
        return receiver_.receive(views(headers), text);
    }

    // Every message that the inbox knows of, in whatever state.
    std::vector<Message> stored() { return store().find(Queue::inbox, {}); }
    Store& store() { return open_->store(); }

    ManualClock clock_;  // of the signatures; the store has its own
    std::unique_ptr<OpenStore> open_ = GetParam().open();
    Inbox inbox_{store()};
    webhooks::StandardWebhooks scheme_{{{"one", secret_one}}, {.clock = &clock_}};
    webhooks::Receiver receiver_{inbox_, scheme_, {.source = "shop", .topic = "payment.received"}};
};

inline std::string kind_name(const testing::TestParamInfo<StoreKind>& info) {
    return info.param.name;
}

}  // namespace postroom::test
