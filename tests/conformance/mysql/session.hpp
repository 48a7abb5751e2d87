// A connection to the database of a test, made with the driver alone.
#pragma once

#include <mysql.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "backends/mysql/address.hpp"
#include "support/mariadb_server.hpp"

namespace postroom::test {

class NativeSession {
public:
    explicit NativeSession(const std::string& url) : connection_(mysql_init(nullptr)) {
        const mysql::Address address = mysql::Address::parse(url);
        mysql_options(handle(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
        if (!address.ca_file.empty())
            mysql_options(handle(), MYSQL_OPT_SSL_CA, address.ca_file.c_str());
        if (mysql_real_connect(handle(), address.hosts[0].name.c_str(), address.user.c_str(),
                               address.password.c_str(), address.database.c_str(),
                               address.hosts[0].port, nullptr, 0) == nullptr)
            throw std::runtime_error(mysql_error(handle()));
    }

    MYSQL* handle() const { return connection_.get(); }

    // One statement, and the rows of its first result.
    SqlRows run(const std::string& sql) {
        if (mysql_real_query(handle(), sql.data(), sql.size()) != 0)
            throw std::runtime_error(mysql_error(handle()));
        SqlRows rows;
        bool first = true;
        do {
            const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
                mysql_store_result(handle()), &mysql_free_result);
            if (result == nullptr) continue;
            while (const MYSQL_ROW row = mysql_fetch_row(result.get())) {
                if (!first) continue;
                const unsigned long* const lengths = mysql_fetch_lengths(result.get());
                auto& cells = rows.emplace_back();
                for (unsigned i = 0; i < mysql_num_fields(result.get()); ++i) {
                    if (row[i] == nullptr) {
                        cells.emplace_back(std::nullopt);
                    } else {
                        cells.emplace_back(std::string(row[i], lengths[i]));
                    }
                }
            }
            first = false;
        } while (mysql_next_result(handle()) == 0);
        if (mysql_errno(handle()) != 0) throw std::runtime_error(mysql_error(handle()));
        return rows;
    }

    std::string value(const std::string& sql) { return run(sql).at(0).at(0).value(); }

private:
    struct Close {
        void operator()(MYSQL* connection) const { mysql_close(connection); }
    };
    std::unique_ptr<MYSQL, Close> connection_;
};

}  // namespace postroom::test
