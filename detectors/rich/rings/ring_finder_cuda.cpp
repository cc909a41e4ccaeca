// SPDX-License-Identifier: Apache-2.0
#if defined(ANELLO_WITH_CUDA)

#include "rich/rings/ring_finder_cuda.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "core/errors.hpp"
#include "memory/persistent_buffers.hpp"
#include "memory/pinned_cuda.hpp"
#include "rich/rings/kernels_cuda.hpp"

namespace anello::rich {
namespace {

/// Rings per event that the first copy brings back; a batch with more rings needs a second copy.
constexpr std::uint32_t usual_rings_per_event = 2;

/// A batch with more events is sent to the device in parts.
constexpr std::uint32_t events_per_part = 8192;

std::size_t round_up(std::size_t bytes) noexcept {
    return (bytes + 255) / 256 * 256;
}

void require(cudaError_t error, const char* what) {
    if (error != cudaSuccess)
        throw SystemError(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error), 0,
                          "Use trigger.backend = \"cpu\", or smaller batches.");
}

/// True if the device can read this memory directly.
bool is_page_locked(const void* memory) noexcept {
    cudaPointerAttributes attributes{};
    const bool is_known = cudaPointerGetAttributes(&attributes, memory) == cudaSuccess;
    if (!is_known) cudaGetLastError();
    return is_known && attributes.type == cudaMemoryTypeHost;
}

/// Frees memory on the device, or page-locked memory on the host.
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
struct DestroyGraph {
    void operator()(cudaGraph_t graph) const noexcept { cudaGraphDestroy(graph); }
    void operator()(cudaGraphExec_t graph) const noexcept { cudaGraphExecDestroy(graph); }
};

}  // namespace

/// Has page-locked room for the hits of a batch, the same room on the device, and lanes for the parts of a large batch:
/// while the device searches one part, the processor takes the rings of the part before, and copies the next part into
/// the room, unless the device can read it in place. The results of a lane are contiguous: tally, events, rings.
/// Batches by id have two separate slots.
class CudaRingFinder::Device {
  public:
    Device(const RingFinderConfig& config, std::uint32_t max_events, std::uint32_t max_hits, const Placement& placement)
        : config_(config),
          max_events_(std::max(max_events, 1U)),
          max_hits_(std::max(max_hits, 1U)),
          n_positions_(static_cast<std::uint32_t>(placement.position.size())),
          window_fine_(placement.window_fine),
          layout_(max_events_, max_hits_) {
        require(cuda::teams_blocks(team_blocks_), "the kernels do not run on this device");
        x_at_ = round_up((max_events_ + std::size_t{1}) * sizeof(std::uint32_t));
        y_at_ = x_at_ + round_up(max_hits_ * sizeof(float));
        std::size_t bytes = y_at_ + round_up(max_hits_ * sizeof(float));
        const std::uint32_t most = std::min(max_events_, events_per_part);
        for (Lane& lane : lanes_) bytes = lay_out_results(lane, most, bytes);
        if (takes_ids())
            for (Slot& slot : slots_) {
                slot.staged_at = lay_out_results(slot.lane, max_events_, bytes);
                bytes = slot.staged_at + round_up(layout_.staged_bytes);
            }
        host_ = take(bytes, false);
        for (Lane& lane : lanes_) {
            lane.waiting_at = bytes;
            bytes += round_up(most * sizeof(std::uint32_t));
        }
        if (takes_ids()) {
            for (Slot& slot : slots_) {
                slot.lane.waiting_at = bytes;
                bytes += round_up(max_events_ * sizeof(std::uint32_t));
            }
            position_at_ = bytes;
            bytes += n_positions_ * sizeof(HitPosition);
        }
        device_ = take(bytes, true);
        if (takes_ids()) {
            keep(placement.position);
            batches_.emplace(memory::BuffersConfig{.n_buffers = static_cast<std::uint32_t>(slots_.size()),
                                                   .buffer_bytes = layout_.bytes,
                                                   .kind = memory::Kind::device});
            for (std::uint32_t k = 0; k < slots_.size(); ++k) slots_[k].on_device = batches_->bytes(k).data();
            for (Slot& slot : slots_)
                if (!record(slot)) break;
        }
        cudaDeviceProp properties{};
        int number = 0;
        require(cudaGetDevice(&number), "no device");
        require(cudaGetDeviceProperties(&properties, number), "no properties");
        name_ = properties.name;
    }

    /// Waits for batches on the device that were not collected.
    ~Device() {
        for (Slot& slot : slots_)
            if (slot.lane.n_events() > 0) abandon(slot.lane);
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    /// Searches a batch that is larger than the room piece by piece.
    bool find(const HitsView& hits, EventRings* rings) noexcept {
        are_offsets_locked_ = is_page_locked(hits.hit_offset);
        are_hits_locked_ = is_page_locked(hits.x_mm) && is_page_locked(hits.y_mm);
        for (std::uint32_t first = 0; first < hits.n_events;) {
            const Piece piece = next_piece(hits, first);
            if (piece.n_events == 0 || !find_piece(hits, first, piece, rings + first)) return false;
            first += piece.n_events;
        }
        return true;
    }

    /// 0 if batches may have several parts, or if the operations cannot be recorded.
    std::uint32_t max_under_way() const noexcept {
        return slots_.back().graph != nullptr ? static_cast<std::uint32_t>(slots_.size()) : 0;
    }

    /// Refuses offsets that decrease, because the first tier would then write over another event's hits.
    bool send(const HitIdsView& hits) noexcept {
        if (n_sent_ - n_collected_ >= max_under_way() || hits.n_events == 0 || hits.n_events > max_events_)
            return false;
        Slot& slot = slots_[n_sent_ % slots_.size()];
        if (!stage(slot, hits)) return false;
        slot.lane.end = hits.n_events;
        if (cudaGraphLaunch(slot.graph.get(), slot.lane.stream.get()) != cudaSuccess) return abandon(slot.lane), false;
        ++n_sent_;
        return true;
    }

    bool collect(EventRings* rings, PlacedHits& placed) noexcept {
        Lane& lane = slots_[n_collected_++ % slots_.size()].lane;
        const bool well = collect(lane, rings);
        if (!well) return abandon(lane), false;
        const auto* tally = at<cuda::Tally>(host_, lane.result_at);
        placed = {tally->n_in_time, tally->n_unknown};
        return true;
    }

    Room room() noexcept { return {at<std::uint32_t>(host_, 0), at<float>(host_, x_at_), at<float>(host_, y_at_)}; }
    const std::string& name() const noexcept { return name_; }

  private:
    /// Consecutive events whose hits, from first_hit on, fit into the room.
    struct Piece {
        std::uint32_t n_events, first_hit, n_hits;
    };

    /// One part on the device: events [begin, end) of the piece; none if they are equal. n_laid_out: number of events
    /// whose results have room before the rings.
    struct Lane {
        std::unique_ptr<CUstream_st, DestroyStream> stream;
        std::size_t result_at = 0, waiting_at = 0;
        std::uint32_t begin = 0, end = 0, n_laid_out = 0;

        std::uint32_t n_events() const noexcept { return end - begin; }
    };

    /// A batch by id: number of events, offsets, ids and times, copied together; and the device's room for positions of
    /// its hits.
    struct BatchLayout {
        std::size_t offset_at, id_at, time_at, staged_bytes;
        std::size_t x_at, y_at, span_at, bytes;

        BatchLayout(std::size_t n_events, std::size_t n_hits) noexcept
            : offset_at(sizeof(std::uint32_t)),
              id_at(offset_at + (n_events + 1) * sizeof(std::uint32_t)),
              time_at(id_at + n_hits * sizeof(std::uint16_t)),
              staged_bytes(time_at + n_hits * sizeof(std::int16_t)),
              x_at(round_up(staged_bytes)),
              y_at(x_at + round_up(n_hits * sizeof(float))),
              span_at(y_at + round_up(n_hits * sizeof(float))),
              bytes(span_at + 2 * n_events * sizeof(std::uint32_t)) {}
    };

    /// One batch by id on the device. All its operations are recorded once, for the full room: to copy also the part
    /// that a smaller batch does not use takes less time than to issue operations one by one.
    struct Slot {
        Lane lane;
        std::unique_ptr<CUgraphExec_st, DestroyGraph> graph;
        std::size_t staged_at = 0;  ///< on the host
        std::byte* on_device = nullptr;
    };

    bool takes_ids() const noexcept { return n_positions_ > 0 && max_events_ <= events_per_part; }

    std::size_t lay_out_results(Lane& lane, std::uint32_t n_events, std::size_t begin) {
        cudaStream_t stream = nullptr;
        require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "no stream");
        lane.stream.reset(stream);
        lane.result_at = begin;
        return begin + round_up(rings_at(n_events) + std::size_t{n_events} * max_rings_per_event * sizeof(Ring));
    }
    void keep(const std::vector<HitPosition>& positions) {
        const std::size_t bytes = positions.size() * sizeof(HitPosition);
        const Memory locked = take(bytes, false);
        std::memcpy(locked.get(), positions.data(), bytes);
        cudaStream_t stream = lanes_.front().stream.get();
        require(cudaMemcpyAsync(device_.get() + position_at_, locked.get(), bytes, cudaMemcpyHostToDevice, stream),
                "positions of hits");
        require(cudaStreamSynchronize(stream), "positions of hits");
    }

    /// Records the operations. False: the runtime cannot do it; batches are then sent with positions.
    bool record(Slot& slot) noexcept {
        slot.lane.n_laid_out = max_events_;
        cudaStream_t stream = slot.lane.stream.get();
        if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return false;
        const bool well = put_down(slot);
        cudaGraph_t recorded = nullptr;
        const bool has_ended = cudaStreamEndCapture(stream, &recorded) == cudaSuccess;
        const std::unique_ptr<CUgraph_st, DestroyGraph> graph(recorded);
        cudaGraphExec_t executable = nullptr;
        if (!well || !has_ended || cudaGraphInstantiate(&executable, recorded, 0) != cudaSuccess) return false;
        slot.graph.reset(executable);
        return true;
    }

    bool put_down(const Slot& slot) noexcept {
        const Lane& lane = slot.lane;
        const cuda::HitsById by_id{.n_events = in<std::uint32_t>(slot.on_device, 0),
                                   .id = in<std::uint16_t>(slot.on_device, layout_.id_at),
                                   .time_fine = in<std::int16_t>(slot.on_device, layout_.time_at),
                                   .position = at<HitPosition>(device_, position_at_),
                                   .n_positions = n_positions_,
                                   .window_fine = window_fine_,
                                   .x_mm = in<float>(slot.on_device, layout_.x_at),
                                   .y_mm = in<float>(slot.on_device, layout_.y_at),
                                   .span = in<std::uint32_t>(slot.on_device, layout_.span_at)};
        cuda::DeviceBatch batch = results_of(lane);
        batch.hits = {max_events_, in<std::uint32_t>(slot.on_device, layout_.offset_at), by_id.x_mm, by_id.y_mm};
        batch.by_id = by_id;
        return cudaMemcpyAsync(slot.on_device, host_.get() + slot.staged_at, layout_.staged_bytes,
                               cudaMemcpyHostToDevice, lane.stream.get()) == cudaSuccess &&
               search(batch, lane);
    }

    /// Copies a batch, with offsets from its first hit on. Returns false if it does not fit, or if offsets decrease.
    bool stage(const Slot& slot, const HitIdsView& hits) noexcept {
        const std::uint32_t first = hits.hit_offset[0];
        std::byte* const to = host_.get() + slot.staged_at;
        auto* const offset = in<std::uint32_t>(to, layout_.offset_at);
        bool is_sorted = true;
        for (std::uint32_t event = 0; event < hits.n_events; ++event) {
            is_sorted = is_sorted && hits.hit_offset[event] <= hits.hit_offset[event + 1];
            offset[event + 1] = hits.hit_offset[event + 1] - first;
        }
        const std::uint32_t n_hits = offset[hits.n_events];
        if (!is_sorted || n_hits > max_hits_) return false;
        offset[0] = 0;
        *in<std::uint32_t>(to, 0) = hits.n_events;
        std::copy_n(hits.hit_id + first, n_hits, in<std::uint16_t>(to, layout_.id_at));
        std::copy_n(hits.hit_time_fine + first, n_hits, in<std::int16_t>(to, layout_.time_at));
        return true;
    }

    /// Places of a lane's results on the device.
    cuda::DeviceBatch results_of(const Lane& lane) const noexcept {
        cuda::DeviceBatch batch{};
        batch.tally = at<cuda::Tally>(device_, lane.result_at);
        batch.event = reinterpret_cast<cuda::EventResult*>(batch.tally + 1);
        batch.ring = at<Ring>(device_, lane.result_at + rings_at(lane.n_laid_out));
        batch.waiting = at<std::uint32_t>(device_, lane.waiting_at);
        return batch;
    }

    /// Searches a batch that is on the device, and copies its results back.
    bool search(const cuda::DeviceBatch& batch, const Lane& lane) noexcept {
        cudaStream_t stream = lane.stream.get();
        return cudaMemsetAsync(batch.tally, 0, sizeof(cuda::Tally), stream) == cudaSuccess &&
               cuda::launch(config_, batch, team_blocks_, stream) == cudaSuccess &&
               copy_results(lane, 0, rings_at(lane.n_laid_out) + n_usual(lane) * sizeof(Ring));
    }

    template <class T>
    static T* in(std::byte* memory, std::size_t offset) noexcept {
        return reinterpret_cast<T*>(memory + offset);
    }
    template <class T>
    static T* at(const Memory& memory, std::size_t offset) noexcept {
        return in<T>(memory.get(), offset);
    }
    static std::size_t rings_at(std::uint32_t n_events) noexcept {
        return (sizeof(cuda::Tally) + n_events * sizeof(cuda::EventResult) + 15) / 16 * 16;
    }

    /// Offsets may decrease, so this looks for the smallest and the largest.
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

    /// Searches a piece part by part, with as many parts on the device as there are lanes.
    bool find_piece(const HitsView& hits, std::uint32_t first, const Piece& piece, EventRings* rings) noexcept {
        std::uint32_t turn = 0;
        bool well = true;
        for (std::uint32_t begin = 0; well && begin < piece.n_events; ++turn) {
            Lane& lane = lanes_[turn % lanes_.size()];
            const std::uint32_t end = begin + std::min(events_per_part, piece.n_events - begin);
            well = collect(lane, rings) && send(lane, hits, first, piece, begin, end);
            begin = end;
        }
        for (std::size_t k = 0; well && k < lanes_.size(); ++k) well = collect(lanes_[turn++ % lanes_.size()], rings);
        for (Lane& lane : lanes_)
            if (!well) abandon(lane);
        return well;
    }

    /// After this, the device no longer writes into the room.
    void abandon(Lane& lane) noexcept {
        cudaStreamSynchronize(lane.stream.get());
        lane.begin = lane.end = 0;
    }

    bool send(Lane& lane, const HitsView& hits, std::uint32_t first, const Piece& piece, std::uint32_t begin,
              std::uint32_t end) noexcept {
        lane.begin = begin;
        lane.end = end;
        lane.n_laid_out = lane.n_events();
        const Columns from = staged(hits, first, piece, begin, end);
        cuda::DeviceBatch batch = results_of(lane);
        batch.hits = {end - begin, at<std::uint32_t>(device_, 0) + begin, before<float>(x_at_, piece.first_hit),
                      before<float>(y_at_, piece.first_hit)};
        return copy_in(lane, begin * sizeof(std::uint32_t), from.hit_offset, end - begin + std::size_t{1}) &&
               copy_in(lane, x_at_ + from.begin * sizeof(float), from.x_mm, from.n_hits) &&
               copy_in(lane, y_at_ + from.begin * sizeof(float), from.y_mm, from.n_hits) && search(batch, lane);
    }

    /// A part's columns, in page-locked memory; begin: its first hit, counted from the piece's.
    struct Columns {
        const std::uint32_t* hit_offset;
        const float *x_mm, *y_mm;
        std::size_t begin, n_hits;
    };

    /// Copies columns into the room unless the device can read them. Offsets do not change and may decrease: a part has
    /// the hits from the smallest offset to the largest.
    Columns staged(const HitsView& hits, std::uint32_t first, const Piece& piece, std::uint32_t begin,
                   std::uint32_t end) noexcept {
        const std::uint32_t* const offset = hits.hit_offset + first;
        const auto [least, most] = std::minmax_element(offset + begin, offset + end + 1);
        const std::size_t at_hit = *least - piece.first_hit, n_hits = *most - *least;
        const Room to = room();
        return {staged(offset + begin, to.hit_offset + begin, end - begin + std::size_t{1}, are_offsets_locked_),
                staged(hits.x_mm + *least, to.x_mm + at_hit, n_hits, are_hits_locked_),
                staged(hits.y_mm + *least, to.y_mm + at_hit, n_hits, are_hits_locked_), at_hit, n_hits};
    }
    template <class T>
    static const T* staged(const T* from, T* room, std::size_t n, bool is_locked) noexcept {
        if (is_locked || from == room) return from;
        std::memmove(room, from, n * sizeof(T));
        return room;
    }

    /// Address on the device at which a column would begin if it had n more entries in front.
    template <class T>
    const T* before(std::size_t offset, std::uint32_t n) const noexcept {
        return reinterpret_cast<const T*>(reinterpret_cast<std::uintptr_t>(device_.get() + offset) - n * sizeof(T));
    }

    template <class T>
    bool copy_in(const Lane& lane, std::size_t offset, const T* from, std::size_t n) noexcept {
        return n == 0 || cudaMemcpyAsync(device_.get() + offset, from, n * sizeof(T), cudaMemcpyHostToDevice,
                                         lane.stream.get()) == cudaSuccess;
    }

    bool copy_results(const Lane& lane, std::size_t begin, std::size_t end) noexcept {
        return cudaMemcpyAsync(host_.get() + lane.result_at + begin, device_.get() + lane.result_at + begin,
                               end - begin, cudaMemcpyDeviceToHost, lane.stream.get()) == cudaSuccess;
    }

    static std::size_t n_usual(const Lane& lane) noexcept {
        return std::size_t{lane.n_laid_out} * usual_rings_per_event;
    }

    /// Waits for the lane's part, if it has one, and takes its rings: the usual number has been copied; if there are
    /// more, it copies the rest.
    bool collect(Lane& lane, EventRings* rings) noexcept {
        if (lane.n_events() == 0) return true;
        if (cudaStreamSynchronize(lane.stream.get()) != cudaSuccess) return false;
        const std::size_t begin = rings_at(lane.n_laid_out), n_rings = at<cuda::Tally>(host_, lane.result_at)->n_rings;
        if (n_rings > std::size_t{lane.n_events()} * max_rings_per_event) return false;
        if (n_rings > n_usual(lane) &&
            !(copy_results(lane, begin + n_usual(lane) * sizeof(Ring), begin + n_rings * sizeof(Ring)) &&
              cudaStreamSynchronize(lane.stream.get()) == cudaSuccess))
            return false;
        const bool well = unpack(lane, rings + lane.begin);
        lane.begin = lane.end = 0;
        return well;
    }

    bool unpack(const Lane& lane, EventRings* rings) const noexcept {
        const auto* tally = at<cuda::Tally>(host_, lane.result_at);
        const auto* event = reinterpret_cast<const cuda::EventResult*>(tally + 1);
        const auto* ring = at<Ring>(host_, lane.result_at + rings_at(lane.n_laid_out));
        for (std::uint32_t k = 0; k < lane.n_events(); ++k) {
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
    std::uint32_t n_positions_;
    std::int32_t window_fine_;
    BatchLayout layout_;  ///< layout of a batch by id
    int team_blocks_ = 0;
    std::size_t x_at_ = 0, y_at_ = 0;
    Memory host_, device_;
    std::optional<memory::PersistentBuffers> batches_;  ///< device memory of batches by id
    std::array<Lane, 4> lanes_;
    std::array<Slot, 2> slots_;
    std::size_t position_at_ = 0;
    std::uint64_t n_sent_ = 0, n_collected_ = 0;                 ///< numbers of batches by id
    bool are_offsets_locked_ = false, are_hits_locked_ = false;  ///< of the current batch
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

CudaRingFinder::CudaRingFinder(const RingFinderConfig& config, std::uint32_t max_events, std::uint32_t max_hits,
                               const Placement& placement) {
    config.validate();
    if (const std::string reason = unavailable_reason(); !reason.empty())
        throw ConfigError("trigger.backend", "must be one that can be used here", "cuda: " + reason,
                          "Use cpu or auto, or see docs/how-to/gpu.md.");
    device_ = std::make_unique<Device>(config, max_events, max_hits, placement);
}

CudaRingFinder::~CudaRingFinder() = default;

bool CudaRingFinder::find(const HitsView& hits, EventRings* rings) noexcept {
    return device_->find(hits, rings);
}

std::uint32_t CudaRingFinder::max_under_way() const noexcept {
    return device_->max_under_way();
}

bool CudaRingFinder::send(const HitIdsView& hits) noexcept {
    return device_->send(hits);
}

bool CudaRingFinder::collect(EventRings* rings, PlacedHits& placed) noexcept {
    return device_->collect(rings, placed);
}

BatchFinder::Room CudaRingFinder::room() noexcept {
    return device_->room();
}

std::string_view CudaRingFinder::device_name() const noexcept {
    return device_->name();
}

}  // namespace anello::rich

#endif
