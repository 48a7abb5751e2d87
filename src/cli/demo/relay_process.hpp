// RelayProcess: the program `postroom`, run in a folder with a postroom.toml; settings in our own
// environment do not reach it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace postroom::cli::demo {

class RelayProcess {
public:
    // `program` is the path of postroom. Its log goes to relay.log in `folder`.
    RelayProcess(std::string program, std::string folder);
    ~RelayProcess();
    RelayProcess(const RelayProcess&) = delete;
    RelayProcess& operator=(const RelayProcess&) = delete;

    void start();
    // As if the machine had lost its power: no word to anybody.
    void kill();
    // SIGTERM, and SIGKILL when that does not help; true when it ran and ended well.
    bool stop();

    // Runs another command of the program in the folder, with `output` as its standard output; true
    // when it ended well.
    bool run(const std::vector<std::string>& arguments, int output) const;

private:
    struct Outputs {
        int out = -1;
        int err = -1;
    };

    pid_t spawn(std::vector<std::string> words, const Outputs& outputs) const;

    const std::string program_;
    const std::string folder_;
    pid_t relay_ = -1;
};

}  // namespace postroom::cli::demo
