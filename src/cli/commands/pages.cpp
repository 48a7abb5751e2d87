#include "cli/pages/pages.hpp"
#include "cli/command_tree.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

ExitCode run_pages(const Invocation& in) {
    const std::string page = in.argument(0);
    print(page == "cli"          ? cli_reference(command_tree())
          : page == "errors"     ? error_table()
          : page == "man"        ? man_page(command_tree())
          : page == "man-config" ? config_man_page()
                                 : config_reference());
    return ExitCode::ok;
}

}  // namespace

Command pages_command() {
    return {.name = "pages",
            .summary = "Print a page of the documentation that is read off the program itself.",
            .arguments = {{.name = "PAGE",
                           .what = "Which.",
                           .choices = {"cli", "config", "errors", "man", "man-config"}}},
            .reads_config = false,
            .hidden = true,
            .run = &run_pages};
}

}  // namespace postroom::cli
