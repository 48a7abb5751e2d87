#include "base/random.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <new>
#include <span>
#include <system_error>
#include <tuple>

namespace postroom::base {

namespace {

void fill_from_kernel(std::span<std::byte> bytes) {
    constexpr std::size_t bytes_max = 256;  // of one call
    while (!bytes.empty()) {
        const std::size_t count = std::min(bytes.size(), bytes_max);
        if (getentropy(bytes.data(), count) != 0)
            throw std::system_error(errno, std::generic_category(), "getentropy");
        bytes = bytes.subspan(count);
    }
}

struct Chunk {
    std::array<std::uint64_t, 64> numbers{};
    std::size_t left = 0;
};

// One thread's chunk, in a mapping that the kernel hands to a forked child filled with zeros: there
// `left` is 0 and the child fetches anew. A check of getpid() would miss a grandchild that was
// given a dead ancestor's number, or a child in a new pid namespace.
class ForkSafeChunk {
public:
    ForkSafeChunk() {
        void* memory = mmap(nullptr, sizeof(Chunk), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(), "mmap of the random chunk");
        chunk_ = new (memory) Chunk;
        // Without wiping (Linux before 4.14, other systems) nothing may be kept: one number a
        // fetch.
#ifdef MADV_WIPEONFORK
        if (madvise(memory, sizeof(Chunk), MADV_WIPEONFORK) == 0)
            fetch_count_ = std::tuple_size_v<decltype(Chunk::numbers)>;
#endif
    }
    ~ForkSafeChunk() { munmap(chunk_, sizeof(Chunk)); }
    ForkSafeChunk(const ForkSafeChunk&) = delete;
    ForkSafeChunk& operator=(const ForkSafeChunk&) = delete;

    std::uint64_t next() {
        if (chunk_->left == 0) {
            fill_from_kernel(
                std::as_writable_bytes(std::span(chunk_->numbers).first(fetch_count_)));
            chunk_->left = fetch_count_;
        }
        return chunk_->numbers[--chunk_->left];
    }

private:
    Chunk* chunk_ = nullptr;
    std::size_t fetch_count_ = 1;
};

}  // namespace

std::uint64_t SystemRandom::next() {
    thread_local ForkSafeChunk chunk;
    return chunk.next();
}

std::uint64_t SeededRandom::next() {
    constexpr std::uint64_t increment = 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_.fetch_add(increment, std::memory_order_relaxed) + increment;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

}  // namespace postroom::base
