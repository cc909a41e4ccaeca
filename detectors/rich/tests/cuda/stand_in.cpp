// SPDX-License-Identifier: Apache-2.0
#include "stand_in.hpp"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

struct CUgraph_st {
    std::vector<std::function<void()>> operations;
};
struct CUgraphExec_st : CUgraph_st {};
struct CUstream_st {
    std::deque<std::function<void()>> operations;
    std::unique_ptr<CUgraph_st> recorded;  ///< the graph; while it is recorded, no operation runs
};

namespace cuda_stand_in {
namespace {

constexpr unsigned warp_threads = 32, most_threads = 64;
constexpr std::size_t stack_bytes = std::size_t{256} << 10, page_bytes = 4096;

struct State {
    Order order = Order::first_ahead;
    std::mt19937_64 random{1};
    std::map<const void*, Site> sites;
    std::set<const void*> spoilt;
    std::string complaint;
    bool is_watching = false;
    std::string shortened;
    std::vector<CUstream_st*> streams;
};

State& state() {
    static State all;
    return all;
}

void complain(const std::string& what) {
    if (state().complaint.empty()) state().complaint = what;
}

// --- Shared memory

/// The threads that last accessed a byte, and the number of barriers that they had passed at that time.
class Shadow {
  public:
    void access(const std::byte* place, std::size_t n_bytes, bool writes, unsigned thread, unsigned epoch) {
        for (std::size_t i = 0; i < n_bytes; ++i) access_byte(place + i, writes, thread, epoch);
    }
    void clear() { pages_.clear(), last_page_ = nullptr; }

  private:
    static constexpr unsigned nobody = 0xffffffff;
    struct Byte {
        unsigned writer = nobody, written_at = 0, read_at = 0;
        std::uint64_t readers = 0;
    };
    using Page = std::array<Byte, page_bytes>;

    void access_byte(const std::byte* place, bool writes, unsigned thread, unsigned epoch) {
        const auto address = reinterpret_cast<std::uintptr_t>(place);
        Byte& byte = page(address / page_bytes)[address % page_bytes];
        const std::uint64_t own = std::uint64_t{1} << thread;
        if (byte.writer != nobody && byte.writer != thread && byte.written_at == epoch)
            complain(told("written", thread, byte.writer, place));
        if (writes && byte.read_at == epoch && (byte.readers & ~own) != 0)
            complain(told("read", thread, static_cast<unsigned>(std::countr_zero(byte.readers & ~own)), place));
        if (writes) {
            byte.writer = thread;
            byte.written_at = epoch;
            return;
        }
        if (byte.read_at != epoch) byte.readers = 0;
        byte.read_at = epoch;
        byte.readers |= own;
    }
    static std::string told(const char* what, unsigned thread, unsigned other, const std::byte* place) {
        char text[160];
        std::snprintf(text, sizeof text,
                      "a race in shared memory: thread %u at %p, which thread %u has %s since the last barrier", thread,
                      static_cast<const void*>(place), other, what);
        return text;
    }
    Page& page(std::uintptr_t number) {
        if (last_page_ == nullptr || last_number_ != number) {
            last_page_ = &pages_[number];
            last_number_ = number;
        }
        return *last_page_;
    }

    std::map<std::uintptr_t, Page> pages_;
    Page* last_page_ = nullptr;
    std::uintptr_t last_number_ = 0;
};

// --- Threads

std::vector<std::byte>& stacks() {
    static std::vector<std::byte> all(most_threads * stack_bytes);
    return all;
}

/// The threads of one block. A thread's value in a collective operation waits for all threads of its mask.
class Block {
  public:
    Block(unsigned number, unsigned n_threads, const std::vector<Range>& ranges,
          const std::function<void()>& thread_work)
        : block_index_{number, 0, 0}, n_threads_(n_threads), ranges_(ranges), thread_work_(thread_work) {
        for (unsigned k = 0; k < n_threads; ++k) {
            ucontext_t& context = threads_[k].context;
            getcontext(&context);
            context.uc_stack.ss_sp = stacks().data() + k * stack_bytes;
            context.uc_stack.ss_size = stack_bytes;
            context.uc_link = &scheduler_;
            makecontext(&context, &Block::thread_main, 0);
        }
    }

    void run() {
        current() = this;
        std::vector<unsigned> turn(n_threads_);
        std::iota(turn.begin(), turn.end(), 0U);
        if (state().order == Order::last_ahead) std::ranges::reverse(turn);
        for (bool goes_on = true; goes_on;) {
            if (state().order == Order::random) std::ranges::shuffle(turn, state().random);
            goes_on = false;
            for (const unsigned k : turn)
                if (threads_[k].is == Is::runnable) {
                    resume(k);
                    goes_on = true;
                }
            for (unsigned k = 0; k < n_threads_; ++k) goes_on |= threads_[k].is == Is::waiting && try_release(k);
        }
        for (unsigned k = 0; k < n_threads_; ++k)
            if (threads_[k].is != Is::over) complain("threads of a warp wait for others in different operations");
        current() = nullptr;
    }

    static Block*& current() {
        static Block* block = nullptr;
        return block;
    }
    const uint3& thread_index() const { return threads_[now_].index; }
    const uint3& block_index() const { return block_index_; }

    /// Waits for all threads of the mask in this operation; the result's [k] is the value of lane k of the warp.
    const std::array<std::uint32_t, warp_threads>& meet(Collective operation, unsigned mask, std::uint32_t mine) {
        Thread& own = threads_[now_];
        own.is = Is::waiting;
        own.operation = operation;
        own.mask = mask;
        own.brought = mine;
        swapcontext(&own.context, &scheduler_);
        return own.got;
    }
    unsigned lane() const { return now_ % warp_threads; }
    /// Notes an access of the current thread, except to its own variables, which are on its stack.
    void access(const void* place, std::size_t n_bytes, bool writes) {
        const auto* at = static_cast<const std::byte*>(place);
        const bool is_own = at >= stacks().data() && at < stacks().data() + stacks().size();
        if (is_own) return;
        if (is_of_device(place))
            look_at_range(at, n_bytes, writes);
        else
            shadow_.access(at, n_bytes, writes, now_, threads_[now_].n_barriers);
    }

  private:
    enum class Is : std::uint8_t { runnable, waiting, over };
    struct Thread {
        ucontext_t context{};
        uint3 index{};
        Is is = Is::runnable;
        Collective operation{};
        unsigned mask = 0, n_barriers = 1;
        std::uint32_t brought = 0;
        std::array<std::uint32_t, warp_threads> got{};
    };

    static void thread_main() {
        Block& block = *current();
        block.thread_work_();
        block.threads_[block.now_].is = Is::over;
    }
    void resume(unsigned k) {
        now_ = k;
        threads_[k].index.x = k;
        swapcontext(&scheduler_, &threads_[k].context);
    }
    bool try_release(unsigned k) {
        const Thread& one = threads_[k];
        const unsigned first = k / warp_threads * warp_threads;
        std::array<std::uint32_t, warp_threads> brought{};
        for (unsigned rest = one.mask; rest != 0; rest &= rest - 1) {
            const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
            const Thread& other = threads_[first + lane];
            if (first + lane >= n_threads_ || other.is != Is::waiting || other.operation != one.operation ||
                other.mask != one.mask)
                return false;
            brought[lane] = other.brought;
        }
        for (unsigned rest = one.mask; rest != 0; rest &= rest - 1) {
            Thread& other = threads_[first + static_cast<unsigned>(std::countr_zero(rest))];
            other.got = brought;
            other.is = Is::runnable;
            other.n_barriers += other.operation == Collective::sync ? 1 : 0;
        }
        return true;
    }

    static bool is_of_device(const void* place);
    void look_at_range(const std::byte* at, std::size_t n_bytes, bool writes) const {
        const auto allows = [&](const Range& range) {
            const auto* const begin = static_cast<const std::byte*>(range.begin);
            const std::size_t short_of = range.name == state().shortened ? range.entry_bytes : 0;
            return at >= begin && at + n_bytes + short_of <= begin + range.bytes && (range.may_be_written || !writes);
        };
        if (ranges_.empty() || std::ranges::any_of(ranges_, allows)) return;
        char text[160];
        std::snprintf(text, sizeof text, "block %u, thread %u %s at %p, which no column of its batch holds",
                      block_index_.x, now_, writes ? "writes" : "reads", static_cast<const void*>(at));
        complain(text);
    }

    const uint3 block_index_;
    const unsigned n_threads_;
    const std::vector<Range>& ranges_;
    const std::function<void()>& thread_work_;
    std::array<Thread, most_threads> threads_;
    ucontext_t scheduler_{};
    unsigned now_ = 0;
    Shadow shadow_;
};

bool is_spoilt(const void* site, Collective kind) {
    Site& seen = state().sites.try_emplace(site, Site{kind, 0}).first->second;
    ++seen.n_calls;
    return state().spoilt.contains(site);
}

// --- Memory

/// Memory between pages without access. Device memory is accessible only while a stream runs an operation.
struct Piece {
    std::byte *begin = nullptr, *map = nullptr;
    std::size_t bytes = 0, map_bytes = 0;
    bool is_on_device = false;

    void open(bool is_open) const {
        mprotect(map + page_bytes, map_bytes - 2 * page_bytes, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
    }
    bool holds(const void* place, std::size_t n_bytes) const {
        const auto* at = static_cast<const std::byte*>(place);
        return at >= begin && at + n_bytes <= begin + bytes;
    }
};

std::vector<Piece>& pieces() {
    static std::vector<Piece> all;
    return all;
}

const Piece* piece_with(const void* place, std::size_t n_bytes) {
    const auto found = std::ranges::find_if(pieces(), [&](const Piece& one) { return one.holds(place, n_bytes); });
    return found == pieces().end() ? nullptr : &*found;
}

bool Block::is_of_device(const void* place) {
    const Piece* const piece = piece_with(place, 1);
    return piece != nullptr && piece->is_on_device;
}

/// Allocates memory that ends at the end of a page, so that the byte after it is not accessible.
cudaError_t take(void** memory, std::size_t bytes, bool is_on_device) {
    constexpr std::size_t alignment = 256;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    Piece piece{.bytes = bytes, .is_on_device = is_on_device};
    piece.map_bytes = (rounded + page_bytes - 1) / page_bytes * page_bytes + 2 * page_bytes;
    void* const map = mmap(nullptr, piece.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return cudaErrorMemoryAllocation;
    piece.map = static_cast<std::byte*>(map);
    piece.begin = piece.map + piece.map_bytes - page_bytes - rounded;
    piece.open(true);
    std::memset(piece.begin, 0xA5, bytes);  // content as another program may have left it
    piece.open(!is_on_device);
    pieces().push_back(piece);
    *memory = piece.begin;
    return cudaSuccess;
}

cudaError_t give_back(void* memory) {
    const auto found = std::ranges::find(pieces(), static_cast<std::byte*>(memory), &Piece::begin);
    if (found == pieces().end()) return complain("memory is given back that was not taken"), cudaErrorInvalidValue;
    munmap(found->map, found->map_bytes);
    pieces().erase(found);
    return cudaSuccess;
}

void do_one(CUstream_st& stream) {
    const std::function<void()> operation = std::move(stream.operations.front());
    stream.operations.pop_front();
    for (const Piece& piece : pieces())
        if (piece.is_on_device) piece.open(true);
    operation();
    for (const Piece& piece : pieces())
        if (piece.is_on_device) piece.open(false);
}

}  // namespace

const uint3& thread_index() noexcept {
    return Block::current()->thread_index();
}

const uint3& block_index() noexcept {
    return Block::current()->block_index();
}

void run_blocks(unsigned n_blocks, unsigned n_threads, const std::vector<Range>& ranges,
                const std::function<void()>& thread_work) {
    std::vector<unsigned> turn(n_blocks);
    std::iota(turn.begin(), turn.end(), 0U);
    if (state().order == Order::last_ahead) std::ranges::reverse(turn);
    if (state().order == Order::random) std::ranges::shuffle(turn, state().random);
    for (const unsigned number : turn) std::make_unique<Block>(number, n_threads, ranges, thread_work)->run();
}

cudaError_t put_down(cudaStream_t stream, std::function<void()> operation) noexcept {
    if (stream->recorded != nullptr)
        stream->recorded->operations.push_back(std::move(operation));
    else
        stream->operations.push_back(std::move(operation));
    return cudaSuccess;
}

void set_order(Order order, std::uint64_t seed) {
    state().order = order;
    state().random.seed(seed);
}

const std::map<const void*, Site>& sites() {
    return state().sites;
}

void forget_sites() {
    state().sites.clear();
}

void spoil(const void* site) {
    state().spoilt.insert(site);
}

void mend(const void* site) {
    state().spoilt.erase(site);
}

void mend_all() {
    state().spoilt.clear();
}

void watch(bool is_on) {
    state().is_watching = is_on;
}

void shorten(const std::string& name) {
    state().shortened = name;
}

std::string take_complaint() {
    return std::exchange(state().complaint, {});
}

}  // namespace cuda_stand_in

using namespace cuda_stand_in;

// --- Collective operations
__attribute__((noinline)) void __syncwarp(unsigned mask) noexcept {
    if (!is_spoilt(__builtin_return_address(0), Collective::sync)) Block::current()->meet(Collective::sync, mask, 0);
}

__attribute__((noinline)) unsigned __ballot_sync(unsigned mask, bool mine) noexcept {
    const bool is_wrong = is_spoilt(__builtin_return_address(0), Collective::ballot);
    const auto& all = Block::current()->meet(Collective::ballot, mask, mine ? 1 : 0);
    unsigned bits = 0;
    for (unsigned k = 0; k < warp_threads; ++k) bits |= all[k] << k;
    return is_wrong ? bits & (bits - 1) : bits;
}

__attribute__((noinline)) float __shfl_xor_sync(unsigned mask, float mine, int distance, int width) noexcept {
    const bool is_wrong = is_spoilt(__builtin_return_address(0), Collective::exchange);
    const unsigned from = (Block::current()->lane() ^ static_cast<unsigned>(distance)) ^ (is_wrong ? 1U : 0U);
    if (from / static_cast<unsigned>(width) != Block::current()->lane() / static_cast<unsigned>(width))
        complain("an exchange beyond its width");
    return std::bit_cast<float>(
        Block::current()->meet(Collective::exchange, mask, std::bit_cast<std::uint32_t>(mine))[from]);
}

__attribute__((noinline)) std::uint32_t __shfl_sync(unsigned mask, std::uint32_t mine, int from, int width) noexcept {
    const bool is_wrong = is_spoilt(__builtin_return_address(0), Collective::broadcast);
    const unsigned own = Block::current()->lane(), w = static_cast<unsigned>(width);
    const auto& all = Block::current()->meet(Collective::broadcast, mask, mine);
    return is_wrong ? mine : all[own / w * w + static_cast<unsigned>(from)];
}

// --- What a compiler for the thread sanitizer calls at each access (kernels.cpp), in its place
namespace {

void look(const void* place, std::size_t n_bytes, bool writes) noexcept {
    if (state().is_watching && Block::current() != nullptr) Block::current()->access(place, n_bytes, writes);
}

}  // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read1(void* p) {
    look(p, 1, false);
}
void __tsan_read2(void* p) {
    look(p, 2, false);
}
void __tsan_read4(void* p) {
    look(p, 4, false);
}
void __tsan_read8(void* p) {
    look(p, 8, false);
}
void __tsan_read16(void* p) {
    look(p, 16, false);
}
void __tsan_write1(void* p) {
    look(p, 1, true);
}
void __tsan_write2(void* p) {
    look(p, 2, true);
}
void __tsan_write4(void* p) {
    look(p, 4, true);
}
void __tsan_write8(void* p) {
    look(p, 8, true);
}
void __tsan_write16(void* p) {
    look(p, 16, true);
}
void __tsan_unaligned_read2(void* p) {
    look(p, 2, false);
}
void __tsan_unaligned_read4(void* p) {
    look(p, 4, false);
}
void __tsan_unaligned_read8(void* p) {
    look(p, 8, false);
}
void __tsan_unaligned_read16(void* p) {
    look(p, 16, false);
}
void __tsan_unaligned_write2(void* p) {
    look(p, 2, true);
}
void __tsan_unaligned_write4(void* p) {
    look(p, 4, true);
}
void __tsan_unaligned_write8(void* p) {
    look(p, 8, true);
}
void __tsan_unaligned_write16(void* p) {
    look(p, 16, true);
}
void __tsan_read_range(void* p, unsigned long n) {
    look(p, n, false);
}
void __tsan_write_range(void* p, unsigned long n) {
    look(p, n, true);
}
// NOLINTEND(bugprone-reserved-identifier)
}

// --- The host's side
cudaError_t cudaGetDeviceCount(int* n) noexcept {
    return *n = 1, cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) noexcept {
    return *device = 0, cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) noexcept {
    std::strcpy(properties->name, "a processor in the place of a device");
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) noexcept {
    return *value = 2, cudaSuccess;
}

cudaError_t cudaGetLastError() noexcept {
    return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) noexcept {
    return error == cudaSuccess ? "no error" : "an error of the stand-in";
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) noexcept {
    return take(memory, bytes, true);
}

cudaError_t cudaFree(void* memory) noexcept {
    return give_back(memory);
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) noexcept {
    return take(memory, bytes, false);
}

cudaError_t cudaFreeHost(void* memory) noexcept {
    return give_back(memory);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) noexcept {
    const Piece* const piece = piece_with(memory, 1);
    attributes->type = piece == nullptr      ? cudaMemoryTypeUnregistered
                       : piece->is_on_device ? cudaMemoryTypeDevice
                                             : cudaMemoryTypeHost;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) noexcept {
    *stream = new CUstream_st;
    state().streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) noexcept {
    if (!stream->operations.empty()) complain("a stream with something under way is destroyed");
    std::erase(state().streams, stream);
    delete stream;
    return cudaSuccess;
}

/// Operations of other streams may run in the meantime, because these streams do not wait.
cudaError_t cudaStreamSynchronize(cudaStream_t stream) noexcept {
    while (!stream->operations.empty()) {
        CUstream_st* next = stream;
        if (state().order == Order::random) next = state().streams[state().random() % state().streams.size()];
        if (!next->operations.empty()) do_one(*next);
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) noexcept {
    const Piece* const on_device = piece_with(kind == cudaMemcpyHostToDevice ? to : from, bytes);
    const Piece* const on_host = piece_with(kind == cudaMemcpyHostToDevice ? from : to, bytes);
    if (on_device == nullptr || !on_device->is_on_device)
        return complain("a copy beyond the device's memory"), cudaErrorInvalidValue;
    if (on_host == nullptr || on_host->is_on_device)
        return complain("a copy beyond page-locked memory"), cudaErrorInvalidValue;
    return put_down(stream, [=] { std::memcpy(to, from, bytes); });
}

cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t stream) noexcept {
    const Piece* const piece = piece_with(to, bytes);
    if (piece == nullptr || !piece->is_on_device) return complain("beyond the device's memory"), cudaErrorInvalidValue;
    return put_down(stream, [=] { std::memset(to, byte, bytes); });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) noexcept {
    stream->recorded = std::make_unique<CUgraph_st>();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) noexcept {
    return *graph = stream->recorded.release(), cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) noexcept {
    *executable = new CUgraphExec_st;
    (*executable)->operations = graph->operations;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) noexcept {
    for (const auto& operation : executable->operations) put_down(stream, operation);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) noexcept {
    return delete graph, cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) noexcept {
    return delete executable, cudaSuccess;
}
