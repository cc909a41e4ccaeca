// SPDX-License-Identifier: Apache-2.0
#if defined(ANELLO_WITH_CUDA)

#include "rich/rings/ring_finder_cuda.hpp"

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"
#include "memory/pinned_cuda.hpp"
#include "rich/rings/kernels_cuda.hpp"

namespace anello::rich {
namespace {

/// Rings per event that come back with the first copy; a batch with more needs a second one.
constexpr std::uint32_t usual_rings_per_event = 2;

std::size_t round_up(std::size_t bytes) noexcept {
    return (bytes + 255) / 256 * 256;
}

void require(cudaError_t error, const char* what) {
    if (error != cudaSuccess)
        throw SystemError(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error), 0,
                          "Use trigger.backend = \"cpu\", or smaller batches.");
}

/// Memory that is given back at the end: on the device, or page-locked on the host.
struct Free {
    bool on_device;
    void operator()(std::byte* memory) const noexcept { on_device ? cudaFree(memory) : cudaFreeHost(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

Memory take(std::size_t bytes, bool on_device) {
    void* memory = nullptr;
    require(on_device ? cudaMalloc(&memory, bytes) : cudaHostAlloc(&memory, bytes, cudaHostAllocPortable),
            on_device ? "no device memory" : "no page-locked memory");
    return {static_cast<std::byte*>(memory), Free{on_device}};
}

struct DestroyStream {
    void operator()(cudaStream_t stream) const noexcept { cudaStreamDestroy(stream); }
};

}  // namespace

/// Buffers of one batch on both sides. Results stand as tally, events, rings, one behind the other.
class CudaRingFinder::Device {
  public:
    Device(const RingFinderConfig& config, std::uint32_t max_events, std::uint32_t max_hits)
        : config_(config), max_events_(std::max(max_events, 1U)), max_hits_(std::max(max_hits, 1U)) {
        cudaStream_t stream = nullptr;
        require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "no stream");
        stream_.reset(stream);
        require(cuda::teams_blocks(team_blocks_), "the kernels do not run on this device");
        const std::size_t offset_bytes = round_up((max_events_ + std::size_t{1}) * sizeof(std::uint32_t));
        const std::size_t column_bytes = round_up(max_hits_ * sizeof(float));
        const std::size_t result_bytes = round_up(rings_at(max_events_) + max_rings() * sizeof(Ring));
        const std::size_t waiting_bytes = round_up(max_events_ * sizeof(std::uint32_t));
        host_ = take(offset_bytes + 2 * column_bytes + result_bytes, false);
        device_ = take(offset_bytes + 2 * column_bytes + result_bytes + waiting_bytes, true);
        x_at_ = offset_bytes;
        y_at_ = x_at_ + column_bytes;
        result_at_ = y_at_ + column_bytes;
        waiting_at_ = result_at_ + result_bytes;
        cudaDeviceProp properties{};
        int number = 0;
        require(cudaGetDevice(&number), "no device");
        require(cudaGetDeviceProperties(&properties, number), "no properties");
        name_ = properties.name;
    }

    /// Piece by piece, where the batch is larger than the buffers.
    bool find(const HitsView& hits, EventRings* rings) noexcept {
        for (std::uint32_t first = 0; first < hits.n_events;) {
            const Piece piece = next_piece(hits, first);
            if (piece.n_events == 0 || !find_piece(hits, first, piece, rings + first)) return false;
            first += piece.n_events;
        }
        return true;
    }

    Room room() noexcept { return {at<std::uint32_t>(host_, 0), at<float>(host_, x_at_), at<float>(host_, y_at_)}; }
    const std::string& name() const noexcept { return name_; }

  private:
    /// Events from one on whose hits, from first_hit on, fit into the buffers.
    struct Piece {
        std::uint32_t n_events, first_hit, n_hits;
    };

    template <class T>
    static T* at(const Memory& memory, std::size_t offset) noexcept {
        return reinterpret_cast<T*>(memory.get() + offset);
    }
    static std::size_t rings_at(std::uint32_t n_events) noexcept {
        return (sizeof(cuda::Tally) + n_events * sizeof(cuda::EventResult) + 15) / 16 * 16;
    }
    std::size_t max_rings() const noexcept { return std::size_t{max_events_} * max_rings_per_event; }

    /// Offsets may decrease, so the least and the greatest are looked for.
    Piece next_piece(const HitsView& hits, std::uint32_t first) const noexcept {
        std::uint32_t least = hits.hit_offset[first], most = least, n = 0;
        for (; n < max_events_ && first + n < hits.n_events; ++n) {
            const std::uint32_t end = hits.hit_offset[first + n + 1];
            const std::uint32_t new_least = std::min(least, end), new_most = std::max(most, end);
            if (new_most - new_least > max_hits_) break;
            least = new_least;
            most = new_most;
        }
        return {n, least, most - least};
    }

    bool find_piece(const HitsView& hits, std::uint32_t first, const Piece& piece, EventRings* rings) noexcept {
        stage(hits, first, piece);
        cuda::DeviceBatch batch{};
        batch.hits = {piece.n_events, at<std::uint32_t>(device_, 0), at<float>(device_, x_at_),
                      at<float>(device_, y_at_)};
        batch.tally = at<cuda::Tally>(device_, result_at_);
        batch.event = reinterpret_cast<cuda::EventResult*>(batch.tally + 1);
        batch.ring = at<Ring>(device_, result_at_ + rings_at(piece.n_events));
        batch.waiting = at<std::uint32_t>(device_, waiting_at_);
        cudaStream_t stream = stream_.get();
        return copy_in(0, (piece.n_events + std::size_t{1}) * sizeof(std::uint32_t)) &&
               copy_in(x_at_, piece.n_hits * sizeof(float)) && copy_in(y_at_, piece.n_hits * sizeof(float)) &&
               cudaMemsetAsync(batch.tally, 0, sizeof(cuda::Tally), stream) == cudaSuccess &&
               cuda::launch(config_, batch, team_blocks_, stream) == cudaSuccess && copy_back(piece.n_events) &&
               unpack(piece.n_events, rings);
    }

    /// Nothing to do where the caller has put its hits into room().
    void stage(const HitsView& hits, std::uint32_t first, const Piece& piece) noexcept {
        const Room to = room();
        if (hits.hit_offset + first != to.hit_offset || piece.first_hit != 0)
            for (std::uint32_t k = 0; k <= piece.n_events; ++k)
                to.hit_offset[k] = hits.hit_offset[first + k] - piece.first_hit;
        if (hits.x_mm + piece.first_hit != to.x_mm)
            std::memmove(to.x_mm, hits.x_mm + piece.first_hit, piece.n_hits * sizeof(float));
        if (hits.y_mm + piece.first_hit != to.y_mm)
            std::memmove(to.y_mm, hits.y_mm + piece.first_hit, piece.n_hits * sizeof(float));
    }

    bool copy_in(std::size_t offset, std::size_t bytes) noexcept {
        return bytes == 0 || cudaMemcpyAsync(device_.get() + offset, host_.get() + offset, bytes,
                                             cudaMemcpyHostToDevice, stream_.get()) == cudaSuccess;
    }

    bool copy_results(std::size_t begin, std::size_t end) noexcept {
        return cudaMemcpyAsync(host_.get() + result_at_ + begin, device_.get() + result_at_ + begin, end - begin,
                               cudaMemcpyDeviceToHost, stream_.get()) == cudaSuccess &&
               cudaStreamSynchronize(stream_.get()) == cudaSuccess;
    }

    /// Rings alone: as many as usual, and the rest where there are more.
    bool copy_back(std::uint32_t n_events) noexcept {
        const std::size_t begin = rings_at(n_events);
        const std::size_t n_usual = std::size_t{n_events} * usual_rings_per_event;
        if (!copy_results(0, begin + n_usual * sizeof(Ring))) return false;
        const std::size_t n_rings = at<cuda::Tally>(host_, result_at_)->n_rings;
        if (n_rings > std::size_t{n_events} * max_rings_per_event) return false;
        return n_rings <= n_usual || copy_results(begin + n_usual * sizeof(Ring), begin + n_rings * sizeof(Ring));
    }

    bool unpack(std::uint32_t n_events, EventRings* rings) const noexcept {
        const auto* tally = at<cuda::Tally>(host_, result_at_);
        const auto* event = reinterpret_cast<const cuda::EventResult*>(tally + 1);
        const auto* ring = at<Ring>(host_, result_at_ + rings_at(n_events));
        for (std::uint32_t k = 0; k < n_events; ++k) {
            if (event[k].n_rings > max_rings_per_event || event[k].first + event[k].n_rings > tally->n_rings)
                return false;
            rings[k].n_rings = event[k].n_rings;
            rings[k].flags = event[k].flags;
            std::copy_n(ring + event[k].first, event[k].n_rings, rings[k].ring);
        }
        return true;
    }

    RingFinderConfig config_;
    std::uint32_t max_events_, max_hits_;
    int team_blocks_ = 0;
    std::size_t x_at_ = 0, y_at_ = 0, result_at_ = 0, waiting_at_ = 0;
    std::unique_ptr<CUstream_st, DestroyStream> stream_;
    Memory host_, device_;
    std::string name_;
};

std::string CudaRingFinder::unavailable_reason() {
    std::string reason = memory::cuda_unavailable_reason();
    int n_blocks = 0;
    if (reason.empty())
        if (const cudaError_t error = cuda::teams_blocks(n_blocks); error != cudaSuccess)
            reason = std::string("the kernels do not run on this device: ") + cudaGetErrorString(error);
    return reason;
}

CudaRingFinder::CudaRingFinder(const RingFinderConfig& config, std::uint32_t max_events, std::uint32_t max_hits) {
    config.validate();
    if (const std::string reason = unavailable_reason(); !reason.empty())
        throw ConfigError("trigger.backend", "must be one that can be used here", "cuda: " + reason,
                          "Use cpu or auto, or see docs/how-to/gpu.md.");
    device_ = std::make_unique<Device>(config, max_events, max_hits);
}

CudaRingFinder::~CudaRingFinder() = default;

bool CudaRingFinder::find(const HitsView& hits, EventRings* rings) noexcept {
    return device_->find(hits, rings);
}

BatchFinder::Room CudaRingFinder::room() noexcept {
    return device_->room();
}

std::string_view CudaRingFinder::device_name() const noexcept {
    return device_->name();
}

}  // namespace anello::rich

#endif
