// The dashboard's files, built into the program.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "postroom/admin.hpp"

namespace postroom::daemon {

struct DashboardFile {
    std::string_view path{};
    StaticPage page{};
};

// Generated from web/. None when the program was built without the dashboard.
std::span<const DashboardFile> dashboard_files();

// As the admin server wants them; nullptr when there are none.
std::shared_ptr<const StaticPages> dashboard_pages();

}  // namespace postroom::daemon
