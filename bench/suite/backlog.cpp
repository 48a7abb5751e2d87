#include "suite/backlog.hpp"

namespace bench {

void Backlog::note(double at_seconds, std::size_t sent, std::size_t handled) {
    // The two are read one after the other.
    const double waiting = sent > handled ? static_cast<double>(sent - handled) : 0;
    notes_.push_back({at_seconds, waiting});
}

double Backlog::mean(double from, double to) const {
    double sum = 0;
    double count = 0;
    for (const Note& note : notes_) {
        if (note.at_seconds < from || note.at_seconds >= to) continue;
        sum += note.waiting;
        count += 1;
    }
    return count > 0 ? sum / count : 0;
}

void Backlog::add_to(Sample& sample, double seconds, double arrivals_per_second) const {
    const double part = seconds / 8;
    sample[metric::wait_start_ms] = mean(0, part) * 1000 / arrivals_per_second;
    sample[metric::wait_end_ms] = mean(seconds - part, seconds) * 1000 / arrivals_per_second;
    sample[metric::waiting_end] = notes_.empty() ? 0 : notes_.back().waiting;
}

}  // namespace bench
