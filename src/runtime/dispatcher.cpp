#include "postroom/dispatcher.hpp"

#include <utility>

#include "postroom/error.hpp"
#include "runtime/crew.hpp"

namespace postroom {

namespace {

class Hooks final : public Interceptor {
public:
    Hooks(std::function<void(const Message&)> before,
          std::function<void(const Message&, std::string_view)> after)
        : before_(std::move(before)), after_(std::move(after)) {}

    void before(const Message& message) override {
        if (before_) before_(message);
    }
    void after(const Message& message, std::string_view error) override {
        if (after_) after_(message, error);
    }

private:
    const std::function<void(const Message&)> before_;
    const std::function<void(const Message&, std::string_view)> after_;
};

}  // namespace

Dispatcher::Dispatcher(Store& store, const DispatcherOptions& options)
    : crew_(std::make_unique<Crew>(store, options)) {}

Dispatcher::Dispatcher(StoreProvider& stores, const DispatcherOptions& options)
    : crew_(std::make_unique<Crew>(stores, options)) {}

Dispatcher::~Dispatcher() { close(); }

void Dispatcher::require_unstarted(const char* what) const {
    if (crew_->started())
        throw Error(ErrorKind::misuse, std::string(what) + ": only before start()");
}

Routes& Dispatcher::routes() {
    require_unstarted("routes");
    return crew_->routes();
}

Dispatcher& Dispatcher::intercept(std::shared_ptr<Interceptor> interceptor) {
    require_unstarted("intercept");
    crew_->intercept(std::move(interceptor));
    return *this;
}

Dispatcher& Dispatcher::before(std::function<void(const Message&)> hook) {
    return intercept(std::make_shared<Hooks>(std::move(hook), nullptr));
}

Dispatcher& Dispatcher::after(std::function<void(const Message&, std::string_view)> hook) {
    return intercept(std::make_shared<Hooks>(nullptr, std::move(hook)));
}

void Dispatcher::start() {
    require_unstarted("start");
    crew_->start();
}

void Dispatcher::close() { crew_->close(); }
void Dispatcher::pause(const std::string& topic) { crew_->pause(topic); }
void Dispatcher::resume(const std::string& topic) { crew_->resume(topic); }
void Dispatcher::pause_in(const std::string& store_id, std::set<std::string> topics) {
    crew_->pause_in(store_id, std::move(topics));
}
void Dispatcher::nudge() { crew_->nudge(); }
DispatcherStatus Dispatcher::status() const { return crew_->status(); }
const OwnerToken& Dispatcher::owner() const { return crew_->owner(); }

}  // namespace postroom
