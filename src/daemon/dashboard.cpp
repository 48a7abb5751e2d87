#include "daemon/dashboard.hpp"

#include <algorithm>

namespace postroom::daemon {

namespace {

class DashboardPages : public StaticPages {
public:
    const StaticPage* find(std::string_view path) const override {
        const std::span<const DashboardFile> files = dashboard_files();
        const auto at = std::ranges::find(files, path, &DashboardFile::path);
        return at == files.end() ? nullptr : &at->page;
    }
};

}  // namespace

std::shared_ptr<const StaticPages> dashboard_pages() {
    if (dashboard_files().empty()) return nullptr;
    return std::make_shared<DashboardPages>();
}

}  // namespace postroom::daemon
