// A worker of the torture that enqueues, claims and settles until it is killed, as a program.
//
//   queue_child enqueue|claim|both|drain URL JOURNAL SEED LEASE_MS
#include <map>
#include <string>

#include "children/child_main.hpp"
#include "postroom/open_store.hpp"
#include "torture/queue_worker.hpp"

namespace postroom::test {
namespace {

torture::QueueWorker::Role role_of(const std::string& word) {
    using Role = torture::QueueWorker::Role;
    static const std::map<std::string, Role> roles{{"enqueue", Role::enqueue},
                                                   {"claim", Role::claim},
                                                   {"both", Role::both},
                                                   {"drain", Role::drain}};
    return roles.at(word);
}

class QueueChild : public torture::QueueWorker {
public:
    QueueChild(const std::string& role, const std::string& url, const std::string& journal,
               std::uint64_t seed, Duration lease)
        : QueueWorker(open_store(url, {.pool_max = 2}), {.role = role_of(role),
                                                         .journal = journal,
                                                         .seed = seed,
                                                         .lease = lease,
                                                         .orders_table = "business_order"}) {}
};

}  // namespace
}  // namespace postroom::test

int main(int count, char** arguments) {
    return postroom::test::run_child<postroom::test::QueueChild>(count, arguments);
}
