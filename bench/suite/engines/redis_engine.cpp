#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "storage/measure.hpp"
#include "suite/engines/engine.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace bench {
namespace {

using postroom::test::ChildOptions;

ChildOptions server_options(const std::filesystem::path& folder, bool flushes) {
    ChildOptions options{
        .program = "/usr/bin/redis-server",
        .arguments = {"--port", "0", "--unixsocket", folder / "socket", "--dir", folder,
                      "--loglevel", "warning", "--logfile", folder / "log"}};
    if (flushes) {
        for (const char* const word : {"--appendonly", "yes", "--appendfsync", "always"})
            options.arguments.emplace_back(word);
    }
    return options;
}

// Only what the peers need: a server, its processor time and the size of its log.
class RedisEngine final : public Engine {
public:
    explicit RedisEngine(bool flushes)
        : flushes_(flushes), server_(server_options(folder_.path(), flushes)) {
        const Stopwatch watch;
        while (!std::filesystem::exists(folder_ / "socket")) {
            if (watch.seconds() > 10 || !server_.running())
                throw std::runtime_error("redis-server does not start");
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }

    std::string name() const override { return "redis"; }
    std::string about() override {
        return flushes_ ? "AOF, flushed always" : "default: snapshots, no log";
    }
    // Prefixes of keys keep the databases apart.
    std::string fresh_database() override {
        return (folder_ / "socket").string() + "#" + std::to_string(++databases_);
    }
    std::unique_ptr<Floor> floor(const std::string&) override {
        throw std::logic_error("there are no hand-written loops for Redis");
    }
    double server_cpu() override { return process_cpu(server_.pid(), true); }
    double log_bytes() override {
        double bytes = 0;
        const std::filesystem::path log = folder_ / "appendonlydir";
        if (!std::filesystem::exists(log)) return 0;
        for (const auto& file : std::filesystem::directory_iterator(log))
            bytes += static_cast<double>(file.file_size());
        return bytes;
    }
    void settle(const std::string&) override {}

private:
    const bool flushes_;
    int databases_ = 0;
    postroom::test::TempDir folder_;
    postroom::test::ChildProcess server_;
};

}  // namespace

std::unique_ptr<Engine> make_redis(bool flushes) { return std::make_unique<RedisEngine>(flushes); }

}  // namespace bench
