// SPDX-License-Identifier: Apache-2.0
#include "receive/datagrams/uring_backend.hpp"

#include <fmt/format.h>
#include <liburing.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t uring_super_packet_bytes = 65536, cache_line_bytes = 64;
/// Bytes before the datagram in its slot.
constexpr std::size_t before_bytes = sizeof(io_uring_recvmsg_out) + sizeof(SocketAddress) + UdpSocket::control_bytes;
constexpr unsigned completions_per_look = 64;
// The kernel works only when the receiving thread calls it, never by interrupting the thread; a flag of the ring shows
// pending work.
constexpr unsigned ring_flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
                                IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE;

void validate(const UringBackendConfig& config) {
    if (config.ports.empty() || config.ports.size() > 4096)
        throw ConfigError("receive.ports", "1 to 4096 ports", std::to_string(config.ports.size()),
                          "Name one port per stream.");
    if (!std::has_single_bit(config.slots_per_stream) || config.slots_per_stream > 4096)
        throw ConfigError("slots_per_stream", "must be a power of 2 up to 4096",
                          std::to_string(config.slots_per_stream), "64 are enough to hide the system call.");
    if (config.max_datagram_bytes == 0 || config.max_datagram_bytes > uring_super_packet_bytes)
        throw ConfigError("max_datagram_bytes", "must be 1 to 65536", std::to_string(config.max_datagram_bytes),
                          "Use 65536 unless memory is scarce.");
}

std::string remedy_for_ring(int error_number) {
    switch (error_number) {
        case ENOSYS:
        case EPERM:
            return "The kernel forbids io_uring here (`sysctl kernel.io_uring_disabled`, or a container's seccomp "
                   "profile): allow it, or set receive.backend = \"socket\".";
        case EINVAL:
            return "Linux 6.1 or newer is needed: set receive.backend = \"socket\".";
        default:
            return "Raise the limits of locked memory and of open files (`ulimit -l`, `ulimit -n`), or set "
                   "receive.backend = \"socket\".";
    }
}

}  // namespace

struct UringBackend::Ring {
    explicit Ring(std::size_t n_completions) {
        io_uring_params params{};
        params.flags = ring_flags;
        params.cq_entries =
            static_cast<unsigned>(std::bit_ceil(std::max<std::size_t>(n_completions, completions_per_look)));
        const int result = io_uring_queue_init_params(completions_per_look, &ring, &params);
        if (result < 0) throw SystemError("cannot set up io_uring", -result, remedy_for_ring(-result));
    }
    ~Ring() { io_uring_queue_exit(&ring); }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    io_uring ring{};
    bool enabled = false;
};

/// A socket, its slots, and the order in which the kernel filled them. Counts only grow; a count modulo the number of
/// slots is an index of `filled`: the caller has [given_back, lent), [lent, taken) waits.
struct UringBackend::Stream {
    struct Filled {
        std::uint16_t slot;
        std::int32_t n_bytes;
    };

    Stream(const UdpSocketConfig& config, std::uint32_t n_slots, std::size_t stride, std::size_t used_bytes)
        : socket(config),
          slots(std::make_unique<std::byte[]>(n_slots * stride)),
          filled(n_slots),
          free_bytes(n_slots * sizeof(io_uring_buf)),
          mask(n_slots - 1) {
        void* const mapped = mmap(nullptr, free_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED)
            throw SystemError("cannot take memory for io_uring", errno, "Use fewer ports or slots.");
        free = static_cast<io_uring_buf_ring*>(mapped);
        io_uring_buf_ring_init(free);
        for (std::uint32_t slot = 0; slot < n_slots; ++slot)
            io_uring_buf_ring_add(free, slots.get() + slot * stride, static_cast<unsigned>(used_bytes),
                                  static_cast<std::uint16_t>(slot), static_cast<int>(mask), static_cast<int>(slot));
        io_uring_buf_ring_advance(free, static_cast<int>(n_slots));
    }
    ~Stream() { munmap(free, free_bytes); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    bool has_free_slot() const noexcept { return taken - given_back <= mask; }

    UdpSocket socket;
    std::unique_ptr<std::byte[]> slots;
    std::vector<Filled> filled;
    std::size_t free_bytes;
    std::uint64_t mask;
    io_uring_buf_ring* free = nullptr;
    std::uint64_t given_back = 0, lent = 0, taken = 0;
    std::optional<Message> open;  ///< a message with datagrams that are not lent yet
    std::uint16_t index = 0;
    bool wanted = true, has_request = false;
    bool is_empty = false;  ///< the last look found no message after those taken
};

UringBackend::UringBackend(const UringBackendConfig& config)
    : config_(config), slot_bytes_(config.gro ? uring_super_packet_bytes : config.max_datagram_bytes), slot_stride_(0) {
    validate(config);
    slot_stride_ = (before_bytes + slot_bytes_ + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
    shape_.msg_namelen = sizeof(SocketAddress);
    shape_.msg_controllen = UdpSocket::control_bytes;
    const std::size_t n_streams = config.ports.size();
    n_super_packets_.assign(n_streams, 0);
    for (const std::uint16_t port : config.ports) {
        streams_.push_back(std::make_unique<Stream>(
            UdpSocketConfig{config.address, config.group, port, config.gro, config.receive_buffer_bytes},
            config.slots_per_stream, slot_stride_, before_bytes + slot_bytes_));
        streams_.back()->index = static_cast<std::uint16_t>(streams_.size() - 1);
    }
    event_ = make_event_descriptor();
    // Room for every slot, and for the end of a request and of its successor.
    ring_ = std::make_unique<Ring>(n_streams * (config.slots_per_stream + std::size_t{2}));
    // The ring's own descriptor cannot be used: with deferred work it does not wake a thread that already sleeps on it.
    if (const int result = io_uring_register_eventfd(&ring_->ring, event_.number()); result < 0)
        throw SystemError("cannot make io_uring signal its results", -result, remedy_for_ring(-result));
    for (const auto& stream : streams_) {
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uintptr_t>(stream->free);
        registration.ring_entries = config.slots_per_stream;
        registration.bgid = stream->index;
        const int result = io_uring_register_buf_ring(&ring_->ring, &registration, 0);
        if (result < 0) throw SystemError("cannot give io_uring its slots", -result, remedy_for_ring(-result));
    }
}

/// Ends the ring first, because the kernel writes to the slots until then.
UringBackend::~UringBackend() {
    ring_.reset();
}

void UringBackend::set_wanted(std::uint16_t stream, bool wanted) noexcept {
    streams_[stream]->wanted = wanted;
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t UringBackend::receive(std::span<Datagram> batch) noexcept {
    if (const std::size_t n_lent = look(batch); n_lent > 0) return n_lent;
    take_event(event_);  // earlier messages do not wake the next sleep, later messages do
    return look(batch);
}

std::size_t UringBackend::look(std::span<Datagram> batch) noexcept {
    give_back_slots();
    make_requests();
    collect();
    std::size_t n_lent = 0;
    const std::size_t n_streams = streams_.size();
    for (std::size_t i = 0; i < n_streams && n_lent < batch.size(); ++i) {
        const std::size_t share = std::max<std::size_t>(1, (batch.size() - n_lent) / (n_streams - i));
        n_lent += lend_from(*streams_[(first_turn_ + i) % n_streams], batch.subspan(n_lent, share));
    }
    first_turn_ = (first_turn_ + 1) % n_streams;
    return n_lent;
}

/// Gives back the slots whose datagrams are all used.
void UringBackend::give_back_slots() noexcept {
    for (const auto& stream : streams_) {
        const std::uint64_t n_slots = stream->lent - stream->given_back;
        if (n_slots == 0) continue;
        for (std::uint64_t i = 0; i < n_slots; ++i) {
            const std::uint16_t slot = stream->filled[(stream->given_back + i) & stream->mask].slot;
            io_uring_buf_ring_add(stream->free, stream->slots.get() + slot * slot_stride_,
                                  static_cast<unsigned>(before_bytes + slot_bytes_), slot,
                                  static_cast<int>(stream->mask), static_cast<int>(i));
        }
        io_uring_buf_ring_advance(stream->free, static_cast<int>(n_slots));
        stream->given_back = stream->lent;
    }
}

/// A request ends when the stream has no free slot, or after an empty datagram.
void UringBackend::make_requests() noexcept {
    if (!ring_->enabled) {
        // By number, because liburing 2.3 declares io_uring_enable_rings() but does not export it.
        syscall(__NR_io_uring_register, ring_->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
        ring_->enabled = true;
    }
    bool made = false;
    for (const auto& stream : streams_) {
        if (stream->has_request || !stream->wanted || !stream->has_free_slot()) continue;
        io_uring_sqe* request = io_uring_get_sqe(&ring_->ring);
        if (request == nullptr) {  // the queue is full: a further wake-up would not come for the rest
            io_uring_submit(&ring_->ring);
            request = io_uring_get_sqe(&ring_->ring);
        }
        if (request == nullptr) break;
        io_uring_prep_recvmsg_multishot(request, stream->socket.descriptor(), &shape_, 0);
        request->flags |= IOSQE_BUFFER_SELECT;
        request->buf_group = stream->index;
        io_uring_sqe_set_data64(request, stream->index);
        stream->has_request = made = true;
    }
    if (made) io_uring_submit_and_get_events(&ring_->ring);
}

void UringBackend::collect() noexcept {
    std::array<io_uring_cqe*, completions_per_look> completions;
    // Continues until the ring is empty. Only a stream that floods can prevent that, as long as it has slots.
    while (const unsigned n_completions =
               io_uring_peek_batch_cqe(&ring_->ring, completions.data(), completions_per_look)) {
        for (unsigned i = 0; i < n_completions; ++i)
            on_completion(static_cast<std::uint16_t>(completions[i]->user_data), completions[i]->res,
                          completions[i]->flags);
        io_uring_cq_advance(&ring_->ring, n_completions);
    }
    for (const auto& stream : streams_) stream->is_empty = stream->has_request;
}

void UringBackend::on_completion(std::uint16_t index, std::int32_t result, std::uint32_t flags) noexcept {
    Stream& stream = *streams_[index];
    if ((flags & IORING_CQE_F_MORE) == 0) stream.has_request = false;
    if ((flags & IORING_CQE_F_BUFFER) != 0) {
        const auto slot = static_cast<std::uint16_t>(flags >> IORING_CQE_BUFFER_SHIFT);
        stream.filled[stream.taken++ & stream.mask] = {slot, result};
    } else if (result < 0 && result != -ENOBUFS) {
        ++n_errors_;
    }
}

std::size_t UringBackend::lend_from(Stream& stream, std::span<Datagram> batch) noexcept {
    std::size_t n_lent = 0;
    while (n_lent < batch.size() && stream.wanted && open_next(stream))
        if (!lend_next(*stream.open, batch[n_lent++])) {
            stream.open.reset();
            ++stream.lent;
        }
    return n_lent;
}

/// Makes `open` the oldest waiting message; false if none waits.
bool UringBackend::open_next(Stream& stream) noexcept {
    while (!stream.open && stream.lent != stream.taken) {
        const Stream::Filled filled = stream.filled[stream.lent & stream.mask];
        io_uring_recvmsg_out* const out =
            io_uring_recvmsg_validate(stream.slots.get() + filled.slot * slot_stride_, filled.n_bytes, &shape_);
        if (out == nullptr) {  // it failed after it had taken a slot
            ++n_errors_;
            ++stream.lent;
            continue;
        }
        msghdr notes_only{};
        auto* const name = reinterpret_cast<std::byte*>(out + 1);
        notes_only.msg_control = name + sizeof(SocketAddress);
        notes_only.msg_controllen = out->controllen;
        const ReceiveNotes notes = stream.socket.read_notes(notes_only);
        SocketAddress source;
        std::memcpy(&source, name, std::min<std::size_t>(out->namelen, sizeof source));
        const std::size_t n_bytes =
            std::min<std::size_t>(io_uring_recvmsg_payload_length(out, filled.n_bytes, &shape_), slot_bytes_);
        const bool is_super = is_super_packet(notes.segment_bytes, n_bytes);
        n_super_packets_[stream.index] += is_super ? 1 : 0;
        stream.open = Message{.rest = {static_cast<std::byte*>(io_uring_recvmsg_payload(out, &shape_)), n_bytes},
                              .segment_bytes = is_super ? notes.segment_bytes : n_bytes,
                              .stream = stream.index,
                              .cut = (out->flags & MSG_TRUNC) != 0,
                              .kernel_ns = notes.kernel_ns,
                              .source = source_of(source)};
    }
    return stream.open.has_value();
}

bool UringBackend::is_read(std::uint16_t index) const noexcept {
    const Stream& stream = *streams_[index];
    return stream.wanted && stream.is_empty && stream.lent == stream.taken && !stream.open;
}

std::uint64_t UringBackend::kernel_dropped(std::uint16_t stream) const noexcept {
    return streams_[stream]->socket.n_dropped();
}

std::uint16_t UringBackend::port(std::uint16_t stream) const noexcept {
    return streams_[stream]->socket.port();
}

std::string UringBackend::describe() const {
    const UdpSocket& first = streams_.front()->socket;
    const std::size_t granted = first.receive_buffer_bytes();
    return fmt::format(
        "{} UDP port{} on {}, io_uring with {} slots each, super-packets (GRO) {}, receive buffer {} kB of {} kB "
        "asked{}",
        streams_.size(), streams_.size() == 1 ? "" : "s", config_.address, config_.slots_per_stream,
        first.has_gro() ? "asked for" : (config_.gro ? "not supported" : "off"), granted / 1000,
        config_.receive_buffer_bytes / 1000,
        granted < config_.receive_buffer_bytes
            ? " (raise `sysctl net.core.rmem_max`, or give the program CAP_NET_ADMIN)"
            : "");
}

}  // namespace anello::receive
