#include "backends/postgres/stop_signal.hpp"

#include <string>
#include <system_error>

#include "postroom/error.hpp"

namespace postroom::postgres {

StopSignal::StopSignal(std::stop_token stop) try
    : stop_(std::move(stop)), raise_(stop_, Raise{&pipe_}) {
} catch (const std::system_error& error) {
    throw Error(ErrorKind::unavailable, "doorbell: no file descriptor: " + error.code().message());
}

}  // namespace postroom::postgres
