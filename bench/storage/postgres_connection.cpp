#include "postgres_connection.hpp"

#include <endian.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace bench {
namespace {

constexpr Oid kInt8Oid = 20;

void append_int32(std::string& out, std::uint32_t value) {
    const std::uint32_t big = htobe32(value);
    out.append(reinterpret_cast<const char*>(&big), sizeof big);
}

// PostgreSQL's binary array: one dimension, no NULLs, lower bound 1.
std::string array_header(std::size_t size, Oid element_type) {
    std::string out;
    append_int32(out, size == 0 ? 0 : 1);
    append_int32(out, 0);
    append_int32(out, element_type);
    if (size == 0) return out;
    append_int32(out, static_cast<std::uint32_t>(size));
    append_int32(out, 1);
    return out;
}

struct ParameterViews {
    explicit ParameterViews(const std::vector<std::string>& parameters) {
        for (const auto& parameter : parameters) {
            values.push_back(parameter.data());
            lengths.push_back(static_cast<int>(parameter.size()));
            formats.push_back(1);
        }
    }
    int count() const { return static_cast<int>(values.size()); }

    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
};

}  // namespace

std::string encode(std::int64_t value) {
    const std::uint64_t big = htobe64(static_cast<std::uint64_t>(value));
    return {reinterpret_cast<const char*>(&big), sizeof big};
}

std::string encode(const std::vector<std::int64_t>& values) {
    std::string out = array_header(values.size(), kInt8Oid);
    for (const auto value : values) {
        append_int32(out, sizeof value);
        out += encode(value);
    }
    return out;
}

std::string encode(const std::vector<std::string>& values, Oid element_type) {
    std::string out = array_header(values.size(), element_type);
    for (const auto& value : values) {
        append_int32(out, static_cast<std::uint32_t>(value.size()));
        out += value;
    }
    return out;
}

std::int64_t decode_int64(const PGresult* result, int row, int column) {
    std::uint64_t big = 0;
    std::memcpy(&big, PQgetvalue(result, row, column), sizeof big);
    return static_cast<std::int64_t>(be64toh(big));
}

Connection::Connection(const std::string& conninfo) : connection_(PQconnectdb(conninfo.c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) give_up("connect");
    execute("SET client_min_messages = warning");
}

void Connection::give_up(const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), PQerrorMessage(connection_.get()));
    std::exit(1);
}

void Connection::check(const PGresult* result, const std::string& what) {
    switch (PQresultStatus(result)) {
        case PGRES_COMMAND_OK:
        case PGRES_TUPLES_OK:
        case PGRES_PIPELINE_SYNC:
            return;
        default:
            give_up(what);
    }
}

double Connection::server_cpu() const {
    std::ifstream file("/proc/" + std::to_string(PQbackendPID(connection_.get())) + "/schedstat");
    double nanoseconds = 0;
    file >> nanoseconds;
    return nanoseconds / 1e9;
}

Result Connection::execute(const std::string& sql) {
    Result result{PQexec(connection_.get(), sql.c_str())};
    check(result.get(), sql);
    return result;
}

std::string Connection::scalar(const std::string& sql) {
    const Result result = execute(sql);
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

void Connection::prepare(const std::string& name, const std::string& sql) {
    const Result result{PQprepare(connection_.get(), name.c_str(), sql.c_str(), 0, nullptr)};
    check(result.get(), sql);
}

Result Connection::run(const std::string& name, const std::vector<std::string>& parameters) {
    const ParameterViews views{parameters};
    Result result{PQexecPrepared(connection_.get(), name.c_str(), views.count(),
                                 views.values.data(), views.lengths.data(), views.formats.data(),
                                 1)};
    check(result.get(), name);
    return result;
}

void Connection::queue(const std::string& name, const std::vector<std::string>& parameters) {
    if (queued_ == 0 && syncs_ == 0 && PQenterPipelineMode(connection_.get()) == 0)
        give_up("pipeline");
    const ParameterViews views{parameters};
    if (PQsendQueryPrepared(connection_.get(), name.c_str(), views.count(), views.values.data(),
                            views.lengths.data(), views.formats.data(), 1) == 0)
        give_up(name);
    ++queued_;
}

void Connection::queue_sync() {
    if (PQpipelineSync(connection_.get()) == 0) give_up("sync");
    ++syncs_;
}

std::vector<Result> Connection::finish() {
    std::vector<Result> results;
    while (syncs_ > 0) {
        Result result{PQgetResult(connection_.get())};
        if (!result) continue;  // the NULL that ends the results of one statement
        check(result.get(), "pipeline");
        if (PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC)
            --syncs_;
        else
            results.push_back(std::move(result));
    }
    queued_ = 0;
    PQexitPipelineMode(connection_.get());
    return results;
}

void Connection::copy_in(const std::string& sql, const std::string& data) {
    const Result started{PQexec(connection_.get(), sql.c_str())};
    if (PQresultStatus(started.get()) != PGRES_COPY_IN ||
        PQputCopyData(connection_.get(), data.data(), static_cast<int>(data.size())) != 1 ||
        PQputCopyEnd(connection_.get(), nullptr) != 1)
        give_up(sql);
    while (const Result result{PQgetResult(connection_.get())}) check(result.get(), sql);
}

}  // namespace bench
