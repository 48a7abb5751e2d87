// The doorbell of SQLite: every commit changes the file's data_version, and that is watched.
//
// Who looks after many files has no connection to spare for each: look() goes by the times of the
// files (FileWatch).
//
// There is nothing to ring: the commit itself is the ring. Any commit by any connection counts,
// settles of this process and writes to tables of the application among them; SQLite cannot tell
// the queues apart.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backends/sqlite/file_watch.hpp"
#include "backends/sqlite/open_file.hpp"
#include "backends/sqlite/prepared.hpp"
#include "postroom/store.hpp"

namespace postroom::sqlite {

// FileDoorbell: looks at the file from a read-only connection of its own.
//
// The first wait() opens the file and returns true at once, because nobody knows what was missed.
// A database that has no file (":memory:", a temporary one) is one that nobody else can write to:
// wait() sleeps and returns false.
//
// Thread safety: as Doorbell.
class FileDoorbell final : public Doorbell {
public:
    explicit FileDoorbell(std::string path, Forecast forecast = {})
        : path_(std::move(path)), forecast_(std::move(forecast)), watch_(path_) {}

    void ring() noexcept override {}
    bool wait(Duration timeout, std::stop_token stop) override;
    bool look() override { return watch_.changed(); }
    Forecast forecast() const override { return forecast_; }

private:
    // True when the version is another than at the last look, or when there was none.
    bool changed();
    void open();

    const std::string path_;
    const Forecast forecast_;

    // Of the waiting thread.
    OpenFile file_;
    std::unique_ptr<Prepared> version_query_;  // none for a database without a file
    std::optional<std::int64_t> version_;
    FileWatch watch_;
};

}  // namespace postroom::sqlite
