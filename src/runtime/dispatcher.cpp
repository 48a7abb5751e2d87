#include "postroom/dispatcher.hpp"

#include <stdexcept>
#include <utility>

#include "postroom/error.hpp"
#include "runtime/dispatcher_threads.hpp"

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
    : threads_(std::make_unique<Threads>(store, options)) {}

Dispatcher::Dispatcher(StoreProvider& stores, const DispatcherOptions& options)
    : threads_(std::make_unique<Threads>(stores, options)) {}

Dispatcher::~Dispatcher() { close(); }

void Dispatcher::require_unstarted(const char* what) const {
    if (threads_->started())
        throw Error(ErrorKind::misuse, std::string(what) + ": only before start()");
}

Routes& Dispatcher::routes() {
    require_unstarted("routes");
    return threads_->routes();
}

Dispatcher& Dispatcher::intercept(std::shared_ptr<Interceptor> interceptor) {
    require_unstarted("intercept");
    if (interceptor == nullptr) throw std::invalid_argument("interceptor: must not be null");
    threads_->intercept(std::move(interceptor));
    return *this;
}

Dispatcher& Dispatcher::add_before(std::function<void(const Message&)> hook) {
    if (!hook) throw std::invalid_argument("hook before handlers: must not be empty");
    return intercept(std::make_shared<Hooks>(std::move(hook), nullptr));
}

Dispatcher& Dispatcher::add_after(std::function<void(const Message&, std::string_view)> hook) {
    if (!hook) throw std::invalid_argument("hook after handlers: must not be empty");
    return intercept(std::make_shared<Hooks>(nullptr, std::move(hook)));
}

void Dispatcher::start() {
    require_unstarted("start");
    threads_->start();
}

void Dispatcher::close() { threads_->close(); }
void Dispatcher::pause(const std::string& topic) { threads_->pause(topic); }
void Dispatcher::resume(const std::string& topic) { threads_->resume(topic); }
void Dispatcher::pause_in(const std::string& store_id, std::set<std::string> topics) {
    threads_->pause_in(store_id, std::move(topics));
}
void Dispatcher::nudge() { threads_->nudge(); }
std::vector<std::string> Dispatcher::probe(const std::string& destination) {
    return threads_->probe(destination);
}
std::vector<StoreWait> Dispatcher::waits() const { return threads_->waits(); }
DispatcherStatus Dispatcher::status() const { return threads_->status(); }
const OwnerToken& Dispatcher::owner() const { return threads_->owner(); }

}  // namespace postroom
