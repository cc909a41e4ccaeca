// SPDX-License-Identifier: Apache-2.0
#if defined(ANELLO_WITH_CUDA)

#include "rich/rings/ring_finder_cuda.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "core/errors.hpp"
#include "memory/pinned_cuda.hpp"
#include "rich/rings/kernels_cuda.hpp"

namespace anello::rich {
namespace {

/// Rings per event that come back with the first copy; a batch with more needs a second one.
constexpr std::uint32_t usual_rings_per_event = 2;

/// A batch of more goes to the device in parts.
constexpr std::uint32_t events_per_part = 8192;

std::size_t round_up(std::size_t bytes) noexcept {
    return (bytes + 255) / 256 * 256;
}

void require(cudaError_t error, const char* what) {
    if (error != cudaSuccess)
        throw SystemError(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error), 0,
                          "Use trigger.backend = \"cpu\", or smaller batches.");
}

/// The device reads it where it is.
bool is_page_locked(const void* memory) noexcept {
    cudaPointerAttributes attributes{};
    const bool is_known = cudaPointerGetAttributes(&attributes, memory) == cudaSuccess;
    if (!is_known) cudaGetLastError();
    return is_known && attributes.type == cudaMemoryTypeHost;
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

/// Page-locked room for the hits of a batch and its like on the device, and lanes by which a large batch goes through
/// in parts: while the device searches one part, the processor takes out the rings of the last, and puts the next into
/// the room, unless the device can read it where it is. Results of a lane stand as tally, events, rings, one behind the
/// other.
class CudaRingFinder::Device {
  public:
    Device(const RingFinderConfig& config, std::uint32_t max_events, std::uint32_t max_hits, const Placement& placement)
        : config_(config),
          max_events_(std::max(max_events, 1U)),
          max_hits_(std::max(max_hits, 1U)),
          n_positions_(static_cast<std::uint32_t>(placement.position.size())),
          window_fine_(placement.window_fine) {
        require(cuda::teams_blocks(team_blocks_), "the kernels do not run on this device");
        std::size_t bytes = 0;
        for (Area& area : areas()) bytes = lay_out(area, bytes);
        const std::uint32_t most = std::min(max_events_, events_per_part);
        for (Lane& lane : lanes_) {
            cudaStream_t stream = nullptr;
            require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "no stream");
            lane.stream.reset(stream);
            lane.result_at = bytes;
            bytes += round_up(rings_at(most) + std::size_t{most} * max_rings_per_event * sizeof(Ring));
        }
        host_ = take(bytes, false);
        for (Lane& lane : lanes_) {
            lane.waiting_at = bytes;
            bytes += round_up(most * sizeof(std::uint32_t));
        }
        for (Area& area : areas())
            if (takes_ids()) bytes = lay_out_placed(area, bytes);
        position_at_ = bytes;
        bytes += n_positions_ * sizeof(HitPosition);
        device_ = take(bytes, true);
        if (takes_ids()) keep(placement.position);
        cudaDeviceProp properties{};
        int number = 0;
        require(cudaGetDevice(&number), "no device");
        require(cudaGetDeviceProperties(&properties, number), "no properties");
        name_ = properties.name;
    }

    /// None where batches may be of several parts.
    std::uint32_t max_under_way() const noexcept {
        return takes_ids() && max_events_ <= events_per_part ? static_cast<std::uint32_t>(areas_.size()) : 0;
    }

    bool find(const HitsView& hits, EventRings* rings) noexcept {
        return find(Source{hits.n_events, hits.hit_offset, reinterpret_cast<const std::byte*>(hits.x_mm),
                           reinterpret_cast<const std::byte*>(hits.y_mm), sizeof(float)},
                    rings);
    }

    /// What the first tier places must not lie where another event's hits do: offsets that decrease are refused.
    bool send(const HitIdsView& hits) noexcept {
        if (n_sent_ - n_collected_ >= max_under_way() || hits.n_events == 0 || hits.n_events > max_events_ ||
            !std::is_sorted(hits.hit_offset, hits.hit_offset + hits.n_events + 1))
            return false;
        const Piece piece{hits.n_events, hits.hit_offset[0], hits.hit_offset[hits.n_events] - hits.hit_offset[0]};
        if (piece.n_hits > max_hits_) return false;
        const Source source{hits.n_events, hits.hit_offset, reinterpret_cast<const std::byte*>(hits.hit_id),
                            reinterpret_cast<const std::byte*>(hits.hit_time_fine), sizeof(std::uint16_t)};
        see_what_is_locked(source);
        const std::size_t k = n_sent_ % areas_.size();
        if (!send(lanes_[k], areas_[k], source, 0, piece, 0, hits.n_events)) {
            abandon(lanes_[k]);
            return false;
        }
        ++n_sent_;
        return true;
    }

    bool collect(EventRings* rings, PlacedHits& placed) noexcept {
        Lane& lane = lanes_[n_collected_++ % areas_.size()];
        placed_ = {};
        const bool well = collect(lane, rings);
        placed = placed_;
        if (!well) abandon(lane);
        return well;
    }

    Room room() noexcept {
        return {at<std::uint32_t>(host_, areas_[0].offset_at), at<float>(host_, areas_[0].x_at),
                at<float>(host_, areas_[0].y_at)};
    }
    const std::string& name() const noexcept { return name_; }

  private:
    /// Where a batch's columns are: those that the host fills, at the same places on the device; and what the device
    /// makes of ids.
    struct Area {
        std::size_t offset_at = 0, x_at = 0, y_at = 0;
        std::size_t placed_x_at = 0, placed_y_at = 0, span_at = 0;
    };

    /// One is enough for hits that come with positions.
    std::span<Area> areas() noexcept { return {areas_.data(), takes_ids() ? areas_.size() : 1}; }
    bool takes_ids() const noexcept { return n_positions_ > 0; }

    std::size_t lay_out(Area& area, std::size_t begin) const noexcept {
        area.offset_at = begin;
        area.x_at = begin + round_up((max_events_ + std::size_t{1}) * sizeof(std::uint32_t));
        area.y_at = area.x_at + round_up(max_hits_ * sizeof(float));
        return area.y_at + round_up(max_hits_ * sizeof(float));
    }
    std::size_t lay_out_placed(Area& area, std::size_t begin) const noexcept {
        area.placed_x_at = begin;
        area.placed_y_at = begin + round_up(max_hits_ * sizeof(float));
        area.span_at = area.placed_y_at + round_up(max_hits_ * sizeof(float));
        return area.span_at + round_up(std::size_t{2} * max_events_ * sizeof(std::uint32_t));
    }

    /// A batch: two columns of so many bytes a hit, either positions or ids and times.
    struct Source {
        std::uint32_t n_events;
        const std::uint32_t* hit_offset;
        const std::byte *first, *second;
        std::size_t hit_bytes;

        bool is_by_id() const noexcept { return hit_bytes == sizeof(std::uint16_t); }
    };

    void see_what_is_locked(const Source& hits) noexcept {
        are_offsets_locked_ = is_page_locked(hits.hit_offset);
        are_hits_locked_ = is_page_locked(hits.first) && is_page_locked(hits.second);
    }

    /// Piece by piece, where the batch is larger than the room.
    bool find(const Source& hits, EventRings* rings) noexcept {
        see_what_is_locked(hits);
        for (std::uint32_t first = 0; first < hits.n_events;) {
            const Piece piece = next_piece(hits, first);
            if (piece.n_events == 0 || !find_piece(hits, first, piece, rings + first)) return false;
            first += piece.n_events;
        }
        return true;
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

    /// Events from one on whose hits, from first_hit on, fit into the room.
    struct Piece {
        std::uint32_t n_events, first_hit, n_hits;
    };

    /// One part under way: events [begin, end) of the piece; none where they are equal.
    struct Lane {
        std::unique_ptr<CUstream_st, DestroyStream> stream;
        std::size_t result_at = 0, waiting_at = 0;
        std::uint32_t begin = 0, end = 0;

        std::uint32_t n_events() const noexcept { return end - begin; }
    };

    template <class T>
    static T* at(const Memory& memory, std::size_t offset) noexcept {
        return reinterpret_cast<T*>(memory.get() + offset);
    }
    static std::size_t rings_at(std::uint32_t n_events) noexcept {
        return (sizeof(cuda::Tally) + n_events * sizeof(cuda::EventResult) + 15) / 16 * 16;
    }

    /// Offsets may decrease, so the least and the greatest are looked for.
    Piece next_piece(const Source& hits, std::uint32_t first) const noexcept {
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

    /// Part by part, as many under way at a time as there are lanes.
    bool find_piece(const Source& hits, std::uint32_t first, const Piece& piece, EventRings* rings) noexcept {
        std::uint32_t turn = 0;
        bool well = true;
        for (std::uint32_t begin = 0; well && begin < piece.n_events; ++turn) {
            Lane& lane = lanes_[turn % lanes_.size()];
            const std::uint32_t end = begin + std::min(events_per_part, piece.n_events - begin);
            well = collect(lane, rings) && send(lane, areas_[0], hits, first, piece, begin, end);
            begin = end;
        }
        for (std::size_t k = 0; well && k < lanes_.size(); ++k) well = collect(lanes_[turn++ % lanes_.size()], rings);
        for (Lane& lane : lanes_)
            if (!well) abandon(lane);
        return well;
    }

    /// The device writes into the room no more.
    void abandon(Lane& lane) noexcept {
        cudaStreamSynchronize(lane.stream.get());
        lane.begin = lane.end = 0;
    }

    bool send(Lane& lane, const Area& area, const Source& hits, std::uint32_t first, const Piece& piece,
              std::uint32_t begin, std::uint32_t end) noexcept {
        lane.begin = begin;
        lane.end = end;
        const Columns from = staged(area, hits, first, piece, begin, end);
        cuda::DeviceBatch batch{};
        batch.hits = {end - begin, at<std::uint32_t>(device_, area.offset_at) + begin,
                      before<float>(hits.is_by_id() ? area.placed_x_at : area.x_at, piece.first_hit),
                      before<float>(hits.is_by_id() ? area.placed_y_at : area.y_at, piece.first_hit)};
        if (hits.is_by_id()) batch.by_id = hits_by_id(area, piece);
        batch.tally = at<cuda::Tally>(device_, lane.result_at);
        batch.event = reinterpret_cast<cuda::EventResult*>(batch.tally + 1);
        batch.ring = at<Ring>(device_, lane.result_at + rings_at(lane.n_events()));
        batch.waiting = at<std::uint32_t>(device_, lane.waiting_at);
        cudaStream_t stream = lane.stream.get();
        return copy_in(lane, area.offset_at + begin * sizeof(std::uint32_t), from.hit_offset,
                       end - begin + std::size_t{1}) &&
               copy_in(lane, area.x_at + from.begin, from.first, from.n_bytes) &&
               copy_in(lane, area.y_at + from.begin, from.second, from.n_bytes) &&
               cudaMemsetAsync(batch.tally, 0, sizeof(cuda::Tally), stream) == cudaSuccess &&
               cuda::launch(config_, batch, team_blocks_, stream) == cudaSuccess &&
               copy_results(lane, 0, rings_at(lane.n_events()) + n_usual(lane) * sizeof(Ring));
    }

    cuda::HitsById hits_by_id(const Area& area, const Piece& piece) const noexcept {
        return {.id = before<std::uint16_t>(area.x_at, piece.first_hit),
                .time_fine = before<std::int16_t>(area.y_at, piece.first_hit),
                .position = at<HitPosition>(device_, position_at_),
                .n_positions = n_positions_,
                .window_fine = window_fine_,
                .x_mm = before<float>(area.placed_x_at, piece.first_hit),
                .y_mm = before<float>(area.placed_y_at, piece.first_hit),
                .span = at<std::uint32_t>(device_, area.span_at)};
    }

    /// A part's columns, in page-locked memory; begin: how far its first hit is behind the piece's, bytes.
    struct Columns {
        const std::uint32_t* hit_offset;
        const std::byte *first, *second;
        std::size_t begin, n_bytes;
    };

    /// Copied into the room where the device cannot read them. Offsets stay as they are, and may decrease: a part is
    /// from the least hit to the greatest.
    Columns staged(const Area& area, const Source& hits, std::uint32_t first, const Piece& piece, std::uint32_t begin,
                   std::uint32_t end) noexcept {
        const std::uint32_t* const offset = hits.hit_offset + first;
        const auto [least, most] = std::minmax_element(offset + begin, offset + end + 1);
        const std::size_t at_byte = (*least - piece.first_hit) * hits.hit_bytes,
                          n_bytes = (*most - *least) * hits.hit_bytes;
        const std::size_t from = *least * hits.hit_bytes;
        return {staged(offset + begin, at<std::uint32_t>(host_, area.offset_at) + begin, end - begin + std::size_t{1},
                       are_offsets_locked_),
                staged(hits.first + from, at<std::byte>(host_, area.x_at) + at_byte, n_bytes, are_hits_locked_),
                staged(hits.second + from, at<std::byte>(host_, area.y_at) + at_byte, n_bytes, are_hits_locked_),
                at_byte, n_bytes};
    }
    template <class T>
    static const T* staged(const T* from, T* room, std::size_t n, bool is_locked) noexcept {
        if (is_locked || from == room) return from;
        std::memmove(room, from, n * sizeof(T));
        return room;
    }

    /// Where a column on the device would begin that has so many more in front.
    template <class T>
    T* before(std::size_t offset, std::uint32_t n) const noexcept {
        return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(device_.get() + offset) - n * sizeof(T));
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
        return std::size_t{lane.n_events()} * usual_rings_per_event;
    }

    /// Waits for the lane's part, if it has one, and takes its rings: as many as usual have come, the rest where there
    /// are more.
    bool collect(Lane& lane, EventRings* rings) noexcept {
        if (lane.n_events() == 0) return true;
        if (cudaStreamSynchronize(lane.stream.get()) != cudaSuccess) return false;
        const std::size_t begin = rings_at(lane.n_events()), n_rings = at<cuda::Tally>(host_, lane.result_at)->n_rings;
        if (n_rings > std::size_t{lane.n_events()} * max_rings_per_event) return false;
        placed_.n_in_time += at<cuda::Tally>(host_, lane.result_at)->n_in_time;
        placed_.n_unknown += at<cuda::Tally>(host_, lane.result_at)->n_unknown;
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
        const auto* ring = at<Ring>(host_, lane.result_at + rings_at(lane.n_events()));
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
    int team_blocks_ = 0;
    std::array<Area, 2> areas_;                   ///< the first is the room; batches by id take turns
    std::size_t position_at_ = 0;                 ///< on the device only
    std::uint64_t n_sent_ = 0, n_collected_ = 0;  ///< batches by id
    Memory host_, device_;
    std::array<Lane, 4> lanes_;
    bool are_offsets_locked_ = false, are_hits_locked_ = false;  ///< of the batch that is searched
    PlacedHits placed_;                                          ///< of it, too
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
