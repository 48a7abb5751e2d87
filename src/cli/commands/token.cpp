#include <fmt/format.h>

#include "base/hex.hpp"
#include "base/random.hpp"
#include "base/sha256.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "postroom/admin.hpp"

namespace postroom::cli {

namespace {

constexpr int token_words = 4;  // of 64 bits
const std::vector<std::string> role_words{"viewer", "operator", "payload-viewer", "admin"};

std::string new_token() {
    base::SystemRandom random;
    std::string token = "prt_";
    for (int i = 0; i < token_words; ++i) token += fmt::format("{:016x}", random.next());
    return token;
}

// A name that is a bare key of TOML.
void check_name(const std::string& name) {
    if (!name.empty() &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos)
        return;
    throw Failure(ExitCode::usage, "NAME takes small letters, digits, - and _");
}

ExitCode run_new(const Invocation& in) {
    const std::string name = in.argument(0);
    check_name(name);
    const std::string role = in.value("role", "viewer");
    const std::string token = new_token();
    const std::string hash = base::hex_encode(base::sha256(token));
    if (in.json()) {
        print(JsonObject()
                  .add("name", name)
                  .add("role", role)
                  .add("token", token)
                  .add("sha256", hash)
                  .text() +
              "\n");
        return ExitCode::ok;
    }
    print(
        fmt::format("Token, shown this once:\n\n    {}\n\nFor the relay's configuration:\n\n"
                    "[tokens.{}]\nrole = \"{}\"\nsha256 = \"{}\"\n",
                    token, name, role, hash));
    return ExitCode::ok;
}

}  // namespace

Command token_command() {
    return {.name = "token",
            .summary = "Make tokens for the admin API.",
            .commands = {
                {.name = "new",
                 .summary = "Make a token, and the settings by which a relay knows it.",
                 .details =
                     "The configuration holds a hash only: whoever reads it cannot use the token. "
                     "Nothing is stored; put the settings into the relay's configuration and send "
                     "it a SIGHUP. Once there is a token, nobody gets in without one.",
                 .arguments = {{.name = "NAME", .what = "Whose it is, for the audit log."}},
                 .options = {{.name = "role",
                              .value = "ROLE",
                              .what = "What its bearer may do; viewer unless given.",
                              .choices = role_words}},
                 .examples = {"postroom token new alice --role operator"},
                 .prints = true,
                 .reads_config = false,
                 .run = &run_new}}};
}

}  // namespace postroom::cli
