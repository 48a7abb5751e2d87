// Link: an ODBC connection and the statements that run on it, one after the other.
#pragma once

#include <sql.h>

#include <functional>
#include <string>

#include "backends/sqlserver/errors.hpp"
#include "backends/sqlserver/parameters.hpp"
#include "backends/sqlserver/result.hpp"
#include "postroom/clock.hpp"

namespace postroom::sqlserver {

class Link {
public:
    using OnRow = std::function<void(const ResultRow& row)>;

    // `answer_within`: for each statement. Zero: the connection is somebody's own, and so are its
    // settings.
    Link(SQLHDBC connection, Duration answer_within);

    SQLHDBC native() const { return connection_; }

    // Runs one batch to its end and shows the rows of all of its results. Throws LinkError.
    void run(const std::string& sql, Parameters& parameters, const OnRow& on_row,
             bool as_text = false) const;
    void run(const std::string& sql) const;

    // Whether the driver has noticed that the server is gone.
    bool dead() const;

private:
    const SQLHDBC connection_;
    const Duration answer_within_;
    const TextWay texts_;
};

}  // namespace postroom::sqlserver
