// The tables, statements and functions of the storage shapes that postgres_shapes compares.
#pragma once

#include <string>
#include <vector>

namespace bench::schema {

// Every claim and ack of the lease shapes runs with these settings: no plan may scan, hash or
// merge, whatever the statistics say. jit is off because a disabled plan node carries an enormous
// cost.
const std::vector<std::string>& plan_pins();

// Drops and makes the schema `shapes` with all tables and functions.
std::string create();

// Fills a table with `count` messages; the payload is sample_payload().
std::string fill_raw(int count);
std::string fill_live(int count);
// Messages parked for an hour, and messages due now.
std::string fill_waiting(int parked, int due);

// Prepared statements of a producer; $1 = how many messages.
std::string produce_raw();
std::string produce_live();

std::string pins_statement(bool with_lock);
std::string raw_claim();
std::string raw_ack();
std::string lease_claim();
std::string lease_read();
std::string lease_ack();

}  // namespace bench::schema
