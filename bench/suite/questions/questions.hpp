// The questions that the bench answers, one file for each.
#pragma once

#include <string>
#include <vector>

#include "suite/bench.hpp"

namespace bench {

struct Question {
    std::string id{};
    std::string title{};
    std::string note{};    // how it was measured, in a sentence or two
    std::string metric{};  // what the picture shows
    void (*ask)(Bench&) = nullptr;
    // What it shows when the peers are asked, too; empty: they are not.
    std::string peers_metric{};
};

const std::vector<Question>& questions();
const Question* find_question(const std::string& id);

void ask_enqueue_single(Bench& bench);
void ask_enqueue_business(Bench& bench);
void ask_enqueue_bulk(Bench& bench);
void ask_hot_single(Bench& bench);
void ask_hot_bulk(Bench& bench);
void ask_cold_drain(Bench& bench);
void ask_inbox(Bench& bench);
void ask_ordered_drain(Bench& bench);
void ask_latency(Bench& bench);
void ask_snapshot(Bench& bench);
void ask_growth_backlog(Bench& bench);
void ask_growth_workers(Bench& bench);
void ask_growth_payload(Bench& bench);
void ask_growth_stores(Bench& bench);
void ask_relay(Bench& bench);

// The other process of the latency question: handles what comes and notes when. Returns its exit
// status.
int consume(const std::string& url);
// The same by hand.
int listen(const std::string& url);

}  // namespace bench
