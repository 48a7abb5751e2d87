// Connections: how many clients there are, and which of them has waited for longest and makes room
// for a new one. Knows no sockets.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <set>

namespace postroom::admin {

class Connections {
public:
    // One client's place. It counts until it is destroyed or evicted.
    class Place {
    public:
        // `close` ends the connection, perhaps again, and must not call back. `all` must outlive
        // this.
        Place(Connections& all, std::function<void()> close);
        ~Place();
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;

        // For a request, or the rest of one. One that was evicted waits no more: what it was doing
        // ends, and it is on its way out.
        void start_waiting();
        void stop_waiting();
        bool evicted() const { return evicted_; }

    private:
        friend class Connections;
        void evict();

        Connections& all_;
        const std::function<void()> close_;
        std::list<Place*>::iterator at_;
        bool evicted_ = false;
    };

    std::size_t count() const { return count_; }
    // Closes the one that has waited for longest. False: none waits.
    bool evict_one();
    void close_all();

private:
    std::size_t count_ = 0;
    std::set<Place*> places_;    // those that were evicted too
    std::list<Place*> waiting_;  // the longest first
};

}  // namespace postroom::admin
