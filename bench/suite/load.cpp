#include "suite/load.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace bench {
namespace {

// Statements are planned for good after a few runs.
constexpr std::size_t warm_messages = 10;

double own_cpu() {
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The threads of one sample. The first exception of any of them comes out of join().
class SampleThreads {
public:
    SampleThreads(int threads, const MakeStep& make_step,
                  const std::function<void(const Step&)>& work)
        : ready_(threads + 1) {
        for (int thread = 0; thread < threads; ++thread) {
            threads_.emplace_back([this, thread, &make_step, work] {
                Step step;
                guard([&] { step = make_step(thread); });
                ready_.arrive_and_wait();
                if (step) guard([&] { work(step); });
            });
        }
    }

    // Returns when every thread has what it needs; they begin at the same moment.
    void start() { ready_.arrive_and_wait(); }

    void join() {
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
        if (failure_) std::rethrow_exception(failure_);
    }

    bool failed() const { return failed_; }

private:
    template <class Work>
    void guard(const Work& work) {
        try {
            work();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            failed_ = true;
        }
    }

    std::barrier<> ready_;
    std::mutex mutex_;
    std::exception_ptr failure_;
    std::atomic<bool> failed_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace

Meter::Meter(Engine& engine)
    : engine_(engine),
      server_cpu_(engine.server_cpu()),
      log_bytes_(engine.log_bytes()),
      client_cpu_(own_cpu()) {}

Sample Meter::finish(double messages) {
    const double seconds = watch_.seconds();
    const double client = (own_cpu() - client_cpu_) * 1e6 / messages;
    const double server = (engine_.server_cpu() - server_cpu_) * 1e6 / messages;
    return {{metric::rate, messages / seconds},
            {metric::client_cpu, client},
            {metric::server_cpu, server},
            {metric::cpu, client + server},
            {metric::log_bytes, (engine_.log_bytes() - log_bytes_) / messages}};
}

Sample measure_load(Engine& engine, int threads, double seconds, const MakeStep& make_step,
                    const Finish& finish) {
    std::atomic<bool> stop = false;
    std::atomic<std::size_t> total = 0;
    std::atomic<std::size_t> warmed = 0;
    const MakeStep warm_step = [&](int thread) {
        Step step = make_step(thread);
        for (std::size_t count = 0; count < warm_messages;) {
            const std::size_t some = step();
            count += std::max<std::size_t>(some, 1);
            warmed += some;
        }
        return step;
    };
    SampleThreads running(threads, warm_step, [&](const Step& step) {
        std::size_t count = 0;
        while (!stop) count += step();
        total += count;
    });
    Meter meter(engine);
    running.start();
    const Stopwatch watch;
    while (watch.seconds() < seconds && !running.failed())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop = true;
    running.join();
    if (finish) finish(total + warmed);
    return meter.finish(static_cast<double>(total));
}

Sample measure_drain(Engine& engine, int threads, std::size_t backlog, const MakeStep& make_step) {
    std::atomic<std::size_t> total = 0;
    std::atomic<bool> failed = false;
    constexpr double limit_seconds = 300;
    const Stopwatch watch;
    SampleThreads running(threads, make_step, [&](const Step& step) {
        while (total < backlog && !failed) {
            try {
                total += step();
            } catch (...) {
                failed = true;
                throw;
            }
            if (watch.seconds() > limit_seconds) throw std::runtime_error("a drain does not end");
        }
    });
    Meter meter(engine);
    running.start();
    running.join();
    return meter.finish(static_cast<double>(total));
}

}  // namespace bench
