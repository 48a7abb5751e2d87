// Three tenants with a database each, on two engines if there are two; a fourth comes while the
// program runs. One dispatcher serves them all.
//
//   multi_tenant                                    SQLite files in a temporary folder
//   multi_tenant postgresql://user@host/database    the second tenant lives there
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <postroom/postroom.hpp>

namespace {

using namespace std::chrono_literals;

// Stands for whatever knows the tenants of a real application: a table, a service, a file.
class TenantDirectory final : public postroom::DatabaseDiscovery {
public:
    void add(const std::string& tenant, const std::string& url) {
        const std::lock_guard lock(mutex_);
        tenants_.push_back(
            {.id = tenant, .url = url, .options = {.schema = "tenant", .deploy_schema = true}});
    }

    std::vector<postroom::DiscoveredDatabase> discover(std::stop_token) override {
        const std::lock_guard lock(mutex_);
        return tenants_;
    }

private:
    std::mutex mutex_;
    std::vector<postroom::DiscoveredDatabase> tenants_;
};

// A folder that goes with the program.
struct Folder {
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string file(const std::string& name) const { return "sqlite:" + (path / name).string(); }

    const std::filesystem::path path =
        std::filesystem::temp_directory_path() /
        ("multi_tenant-" + postroom::OwnerToken::generate().to_string());
};

bool wait_for(const std::atomic<int>& count, int wanted) {
    for (int i = 0; i < 30'000 && count < wanted; ++i) std::this_thread::sleep_for(1ms);
    return count >= wanted;
}

}  // namespace

int main(int count, char** arguments) {
    const Folder folder;
    TenantDirectory directory;
    directory.add("north", folder.file("north.db"));
    directory.add("south", count > 1 ? arguments[1] : folder.file("south.db"));
    directory.add("west", folder.file("west.db"));

    std::atomic<int> mails = 0;
    postroom::LogObserver log({.min_level = postroom::LogLevel::warning});
    const auto service =
        postroom::ServiceBuilder()
            .discover_outboxes(directory, 200ms)  // every 5 minutes, if you do not say
            .on_outbox("order.placed",
                       [&](const postroom::Message& m, postroom::HandlerContext& context) {
                           std::printf("mail for an order of %s: %s\n",
                                       std::string(context.store()).c_str(), m.payload.c_str());
                           ++mails;
                       })
            .connections_max(16)
            .observer(log)
            .build();
    service->start();

    for (const char* const tenant : {"north", "south", "west"})
        service->outboxes().get(tenant).enqueue({.topic = "order.placed", .payload = "a chair"});
    if (!wait_for(mails, 3)) return 1;

    directory.add("east", folder.file("east.db"));  // seen at the next discovery
    for (bool known = false; !known;) {
        try {
            service->outboxes().get("east").enqueue({.topic = "order.placed", .payload = "a lamp"});
            known = true;
        } catch (const postroom::Error&) {  // there is no store 'east' yet
            std::this_thread::sleep_for(10ms);
        }
    }
    if (!wait_for(mails, 4)) return 1;
    std::printf("%zu tenants served\n", service->outbox_dispatcher().status().stores);
    service->close();
}
