// Backlog: how many messages wait, noted again and again under a steady load.
#pragma once

#include <cstddef>
#include <vector>

#include "suite/results.hpp"

namespace bench {

class Backlog {
public:
    void note(double at_seconds, std::size_t sent, std::size_t handled);
    // Adds the mean wait in the first and in the last eighth of `seconds`, and what waited in the
    // end. By Little's law a message waits, in the mean, as long as the mean backlog takes to
    // arrive.
    void add_to(Sample& sample, double seconds, double arrivals_per_second) const;

private:
    struct Note {
        double at_seconds;
        double waiting;
    };
    double mean(double from, double to) const;

    std::vector<Note> notes_;
};

}  // namespace bench
