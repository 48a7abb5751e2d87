// Engine: a database server of our own, on this machine, and what can be read off it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "suite/floors/floor.hpp"

namespace bench {

class Engine {
public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    virtual std::string name() const = 0;
    // Version and the settings that matter.
    virtual std::string about() = 0;

    // The URL of an empty database; it is there until the engine goes.
    virtual std::string fresh_database() = 0;
    // The hand-written loops, on tables of their own in that database.
    virtual std::unique_ptr<Floor> floor(const std::string& url) = 0;

    // Processor seconds of the server so far; 0 when it is a part of this process.
    virtual double server_cpu() = 0;
    // Bytes of log written so far.
    virtual double log_bytes() = 0;

    // Lets the server finish what earlier samples have left behind in this database.
    virtual void settle(const std::string& url) = 0;

    // Whether writers of several connections get along.
    virtual bool concurrent_writers() const { return true; }
};

std::unique_ptr<Engine> make_postgres();
std::unique_ptr<Engine> make_mariadb();
std::unique_ptr<Engine> make_sqlite();
// For peers only. `flushes`: every change is on the disk before it is confirmed.
std::unique_ptr<Engine> make_redis(bool flushes);

// Processor seconds of process `pid`, those of its ended children included; 0 when it is gone.
double process_cpu(long pid, bool with_ended_children);
// Processor seconds of all children of `pid` that run.
double children_cpu(long pid);

}  // namespace bench
