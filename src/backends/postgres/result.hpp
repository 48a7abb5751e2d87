// Result and its rows: what libpq hands back.
#pragma once

#include <libpq-fe.h>

#include <memory>

#include "postroom/transaction.hpp"
#include "sql/connection.hpp"

namespace postroom::postgres {

// The forms in which libpq can be asked for a result.
inline constexpr int text_results = 0;
inline constexpr int binary_results = 1;

struct ClearResult {
    void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ClearResult>;

// A row of a result in binary form.
class ResultRow final : public sql::Row {
public:
    // `result` must outlive this object.
    ResultRow(const PGresult& result, int row) : result_(result), row_(row) {}

    bool null(int column) const override;
    std::int64_t integer(int column) const override;
    std::string_view text(int column) const override { return bytes(column); }
    std::string_view blob(int column) const override { return bytes(column); }
    Instant time(int column) const override;

private:
    std::string_view bytes(int column) const;

    const PGresult& result_;
    const int row_;
};

// All rows of a result in text form.
SqlRows text_rows(const PGresult& result);

}  // namespace postroom::postgres
