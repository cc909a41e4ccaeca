// SPDX-License-Identifier: Apache-2.0
#include "receive/xdp/xdp_backend.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t joined_bytes_at_most = std::size_t{4} << 20;
constexpr std::size_t ethernet_head_bytes = 14, vlan_tags_bytes = 8;
constexpr std::uint32_t slots_at_least = 64;

void validate(const XdpBackendConfig& config) {
    if (config.ports.empty() || config.ports.size() > 65535)
        throw ConfigError("receive.ports", "1 to 65535 ports", std::to_string(config.ports.size()),
                          "Name one port per stream.");
    if (!std::has_single_bit(config.slots_per_queue) || config.slots_per_queue < slots_at_least ||
        config.slots_per_queue > (std::size_t{1} << 20))
        throw ConfigError("slots_per_queue", "must be a power of 2, 64 to 1048576",
                          std::to_string(config.slots_per_queue), "32768 suit most rates.");
}

std::uint32_t slots_that_fit(const XdpBackendConfig& config, std::uint32_t n_queues) {
    const std::size_t fit = std::bit_floor(config.memory_bytes / XdpSocket::slot_bytes / n_queues);
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(fit, slots_at_least, config.slots_per_queue));
}

/// Refuses a loopback, because the generic mode shows super-packets as frames without marking them, and a loopback is
/// full of them.
NetworkInterface find_network(const std::string& name) {
    NetworkInterface found = find_interface(name);
    if (found.is_loopback)
        throw ConfigError("receive.interface", "must not be the loopback for AF_XDP", name,
                          "Name the interface of the data, or set receive.backend = \"socket\".");
    return found;
}

bool needs_pieces(const NetworkInterface& interface) noexcept {
    return interface.mtu_bytes + ethernet_head_bytes + vlan_tags_bytes > XdpSocket::usable_slot_bytes;
}

bool is_want_of_memory(int error_number) noexcept {
    return error_number == ENOMEM || error_number == ENOBUFS;
}

}  // namespace

const char* name_of(XdpMode mode) noexcept {
    constexpr const char* names[]{"zero copy", "native", "generic"};
    return names[static_cast<std::size_t>(mode)];
}

XdpBackend::XdpBackend(const XdpBackendConfig& config)
    : config_(config),
      interface_(find_network(config.interface)),
      stream_of_port_(65536, -1),
      slots_per_queue_(slots_that_fit(config, interface_.n_receive_queues)) {
    validate(config);
    guards_.reserve(config.ports.size());
    for (const std::uint16_t wanted_port : config.ports) {
        // no GRO, since generic mode cannot split super-packets
        guards_.emplace_back(config.address, wanted_port, false, config.group);
        stream_of_port_[guards_.back().port()] = static_cast<std::int32_t>(guards_.size() - 1);
    }
    streams_.resize(guards_.size());
    dropped_reported_.resize(guards_.size());
    joined_ = std::make_unique<std::byte[]>(joined_bytes_at_most);
    open_best();
    epoll_ = make_epoll();
    for (const auto& socket : sockets_) watch(epoll_, socket->descriptor(), 0, EPOLLIN);
    slots_.resize(std::size_t{slots_per_queue_} * sockets_.size());
    lent_.reserve(slots_.size());
}

/// Tries zero copy, native and generic mode, with frames in pieces if the interface's are longer than a slot.
void XdpBackend::open_best() {
    const bool long_frames = needs_pieces(interface_);
    for (auto mode = config_.best_mode;;) {
        for (const bool pieces : {long_frames, false}) try {
                open(mode, pieces);
                return;
            } catch (const SystemError& error) {
                close();
                const bool is_last = mode == XdpMode::generic && !pieces;
                if (is_last || error.error_number() == EPERM || error.error_number() == EBUSY) throw;
                why_not_better_ = error.what();
            }
        mode = static_cast<XdpMode>(static_cast<int>(mode) + 1);
    }
}

/// Opens the sockets first and the program last, so that its first frame finds them. Until then the stack has the
/// ports.
void XdpBackend::open(XdpMode mode, bool pieces) {
    mode_ = mode;
    pieces_ = pieces;
    in_addr destination{};
    inet_pton(AF_INET, config_.address.c_str(), &destination);  // the guards have checked it
    program_ = std::make_unique<XdpProgram>(destination.s_addr, interface_.n_receive_queues, pieces);
    for (const PortGuard& guard : guards_) program_->add_port(guard.port());
    while (true) try {
            memory_ = std::make_unique<memory::PersistentBuffers>(
                memory::BuffersConfig{.n_buffers = interface_.n_receive_queues * slots_per_queue_,
                                      .buffer_bytes = XdpSocket::slot_bytes,
                                      .kind = memory::Kind::huge});
            for (std::uint32_t queue = 0; queue < interface_.n_receive_queues; ++queue)
                sockets_.push_back(std::make_unique<XdpSocket>(
                    XdpSocketConfig{interface_.index, queue, mode == XdpMode::zero_copy, pieces, config_.busy_poll_us},
                    memory_of(queue)));
            break;
        } catch (const SystemError& error) {
            sockets_.clear();
            if (!is_want_of_memory(error.error_number()) || slots_per_queue_ <= slots_at_least) throw;
            slots_per_queue_ /= 2;
        }
    for (std::uint32_t queue = 0; queue < sockets_.size(); ++queue)
        program_->add_socket(queue, sockets_[queue]->descriptor());
    program_->attach(interface_.index, mode == XdpMode::generic ? XdpAttachment::generic : XdpAttachment::native);
}

std::span<std::byte> XdpBackend::memory_of(std::uint32_t queue) noexcept {
    return {memory_->bytes(queue * slots_per_queue_).data(), slots_per_queue_ * XdpSocket::slot_bytes};
}

void XdpBackend::try_without_attaching(const std::string& interface) {
    const NetworkInterface network = find_network(interface);
    const bool pieces = needs_pieces(network);
    const XdpProgram checked_by_the_kernel(0, network.n_receive_queues, pieces);
    memory::PersistentBuffers memory({.n_buffers = slots_at_least, .buffer_bytes = XdpSocket::slot_bytes});
    const XdpSocket bound({network.index, 0, false, pieces},
                          {memory.bytes(0).data(), slots_at_least * XdpSocket::slot_bytes});
}

void XdpBackend::close() noexcept {
    program_.reset();
    sockets_.clear();
    memory_.reset();
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t XdpBackend::receive(std::span<Datagram> batch) noexcept {
    give_back_lent();
    n_empty_ = 0;
    std::size_t n_lent = 0;
    for (Stream& stream : streams_)
        if (stream.wanted && stream.first_waiting != none) n_lent += lend_waiting(stream, batch.subspan(n_lent));
    const auto n_queues = static_cast<std::uint32_t>(sockets_.size());
    for (std::uint32_t i = 0; i < n_queues && n_lent < batch.size(); ++i)
        n_lent += take_from((first_queue_ + i) % n_queues, batch.subspan(n_lent));
    first_queue_ = (first_queue_ + 1) % n_queues;
    return n_lent;
}

void XdpBackend::give_back_lent() noexcept {
    joined_bytes_ = 0;
    if (lent_.empty()) return;
    for (const std::uint32_t slot : lent_)
        sockets_[slot / slots_per_queue_]->give_back(std::uint64_t{slot % slots_per_queue_} * XdpSocket::slot_bytes);
    lent_.clear();
    for (const auto& socket : sockets_) socket->publish_given_back();
}

std::size_t XdpBackend::lend_waiting(Stream& stream, std::span<Datagram> batch) noexcept {
    std::size_t n_lent = 0;
    while (n_lent < batch.size() && stream.first_waiting != none) {
        const Lending result = lend(stream, stream.first_waiting, batch[n_lent]);
        if (result == Lending::no_room) break;
        n_lent += result == Lending::lent ? 1 : 0;
        stream.first_waiting = slots_[stream.first_waiting].next_frame;
    }
    return n_lent;
}

std::size_t XdpBackend::take_from(std::uint32_t queue, std::span<Datagram> batch) noexcept {
    XdpSocket& socket = *sockets_[queue];
    if (socket.n_ready() == 0) socket.poll_queue();
    const std::uint32_t n_ready = socket.n_ready();
    std::size_t n_lent = 0;
    std::uint32_t n_taken = 0;
    while (n_taken < n_ready && n_lent < batch.size()) {
        const std::uint32_t n_pieces = remember(queue, n_taken, n_ready);
        if (n_pieces == 0) break;
        n_lent += take_frame(first_slot_, batch[n_lent]) ? 1 : 0;
        n_taken += n_pieces;
    }
    if (n_taken > 0) socket.take(n_taken);
    n_empty_ += n_lent < batch.size() ? 1 : 0;  // a frame that is not complete counts as not yet arrived
    return n_lent;
}

/// Records the pieces of the next frame, the first of which is `first_slot_`. Returns their number, or 0 if the frame's
/// end has not arrived.
std::uint32_t XdpBackend::remember(std::uint32_t queue, std::uint32_t position, std::uint32_t n_ready) noexcept {
    std::uint32_t n_pieces = 0, n_frame_bytes = 0, last = none;
    for (bool continues = true; continues; ++n_pieces) {
        if (position + n_pieces == n_ready) return 0;
        const XdpSocket::Piece piece = sockets_[queue]->ready(position + n_pieces);
        const auto slot = static_cast<std::uint32_t>(queue * slots_per_queue_ + piece.address / XdpSocket::slot_bytes);
        slots_[slot] = {.begin = memory_of(queue).data() + piece.address,
                        .n_bytes = piece.n_bytes,
                        .n_frame_bytes = 0,
                        .next_piece = none,
                        .next_frame = none,
                        .payload = {},
                        .source = {}};
        (last == none ? first_slot_ : slots_[last].next_piece) = slot;
        last = slot;
        n_frame_bytes += piece.n_bytes;
        continues = piece.continues;
    }
    slots_[first_slot_].n_frame_bytes = n_frame_bytes;
    return n_pieces;
}

/// True if it was lent; otherwise it waits, or was not usable.
bool XdpBackend::take_frame(std::uint32_t first_slot, Datagram& datagram) noexcept {
    const std::int32_t index = stream_of(first_slot);
    if (index < 0) {
        ++n_malformed_;
        done_with(first_slot);
        return false;
    }
    Stream& stream = streams_[static_cast<std::size_t>(index)];
    if (stream.wanted && stream.first_waiting == none) {
        const Lending result = lend(stream, first_slot, datagram);
        if (result != Lending::no_room) return result == Lending::lent;
    }
    wait(stream, first_slot);
    return false;
}

/// The stream according to the frame's start; -1 for none of ours. Records the payload of a frame in one piece.
std::int32_t XdpBackend::stream_of(std::uint32_t first_slot) noexcept {
    Slot& first = slots_[first_slot];
    UdpFrame frame{};
    const FrameVerdict verdict = parse_frame({first.begin, first.n_bytes}, first.n_frame_bytes, frame);
    const bool is_beginning = verdict == FrameVerdict::cut_short && first.next_piece != none;
    if (verdict == FrameVerdict::udp) {
        first.payload = frame.payload;
        first.source = frame.source;
    }
    const bool is_super_packet = first.n_frame_bytes > interface_.mtu_bytes + ethernet_head_bytes + vlan_tags_bytes;
    if (is_super_packet) return -1;
    return verdict == FrameVerdict::udp || is_beginning ? stream_of_port_[frame.destination_port] : -1;
}

void XdpBackend::wait(Stream& stream, std::uint32_t first_slot) noexcept {
    (stream.first_waiting == none ? stream.first_waiting : slots_[stream.last_waiting].next_frame) = first_slot;
    stream.last_waiting = first_slot;
}

XdpBackend::Lending XdpBackend::lend(Stream& stream, std::uint32_t first_slot, Datagram& datagram) noexcept {
    const Slot& first = slots_[first_slot];
    std::span<const std::byte> payload = first.payload;
    SourceAddress source = first.source;
    if (first.next_piece != none) {
        if (first.n_frame_bytes > joined_bytes_at_most - joined_bytes_) return Lending::no_room;
        UdpFrame frame{};
        if (parse_frame(put_together(first_slot), first.n_frame_bytes, frame) != FrameVerdict::udp) {
            ++n_malformed_;
            done_with(first_slot);
            return Lending::malformed;
        }
        payload = frame.payload;
        source = frame.source;
    }
    done_with(first_slot);
    ++stream.n_lent;
    const auto index = static_cast<std::uint16_t>(&stream - streams_.data());
    datagram = {.bytes = payload, .stream = index, .cut = false, .kernel_ns = 0, .source = source};
    return Lending::lent;
}

std::span<const std::byte> XdpBackend::put_together(std::uint32_t first_slot) noexcept {
    std::byte* const begin = joined_.get() + joined_bytes_;
    for (std::uint32_t slot = first_slot; slot != none; slot = slots_[slot].next_piece) {
        std::memcpy(joined_.get() + joined_bytes_, slots_[slot].begin, slots_[slot].n_bytes);
        joined_bytes_ += slots_[slot].n_bytes;
    }
    return {begin, slots_[first_slot].n_frame_bytes};
}

/// The slots are given back at the next call.
void XdpBackend::done_with(std::uint32_t first_slot) noexcept {
    for (std::uint32_t slot = first_slot; slot != none; slot = slots_[slot].next_piece) lent_.push_back(slot);
}

/// Reads losses before handed-on datagrams: those that arrive in between count as still on their way.
std::uint64_t XdpBackend::kernel_dropped(std::uint16_t stream) const noexcept {
    std::uint64_t lost = n_malformed_, missing_all = 0, missing_here = 0;
    for (const auto& socket : sockets_) lost += socket->n_dropped();
    for (std::uint16_t i = 0; i < guards_.size(); ++i) {
        const std::uint64_t missing = program_->n_handed_on(port(i)) - streams_[i].n_lent;
        missing_all += missing;
        if (i == stream) missing_here = missing;
    }
    const std::uint64_t on_their_way = missing_all > lost ? missing_all - lost : 0;
    if (missing_here > on_their_way)
        dropped_reported_[stream] = std::max(dropped_reported_[stream], missing_here - on_their_way);
    return dropped_reported_[stream] + guards_[stream].n_refused();
}

std::string XdpBackend::busy_poll_words() const {
    if (config_.busy_poll_us == 0) return "";
    const int error_number = sockets_.front()->busy_poll_error();
    return error_number == 0 ? fmt::format(", busy polling {} us", config_.busy_poll_us)
                             : fmt::format(", busy polling refused: {} (Linux 5.11 has it)",
                                           std::generic_category().message(error_number));
}

std::string XdpBackend::describe() const {
    return fmt::format(
        "{} UDP port{} by AF_XDP on {}, {} mode{}, {} queue{} of {} slots of {} bytes, longer frames {}{}{}",
        guards_.size(), guards_.size() == 1 ? "" : "s", interface_.name, name_of(mode_),
        mode_ == XdpMode::native ? " (the driver copies)" : "", sockets_.size(), sockets_.size() == 1 ? "" : "s",
        slots_per_queue_, XdpSocket::slot_bytes, pieces_ ? "in pieces" : "not taken", busy_poll_words(),
        why_not_better_.empty() ? "" : fmt::format("; not better because: {}", why_not_better_));
}

}  // namespace anello::receive
