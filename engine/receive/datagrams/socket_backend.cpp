// SPDX-License-Identifier: Apache-2.0
#include "receive/datagrams/socket_backend.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t super_packet_bytes = 65536;
/// The kernel's struct epoll_params, which the headers of Debian 12 lack.
struct EpollParameters {
    std::uint32_t busy_poll_us;
    std::uint16_t budget;  // packets per poll
    std::uint8_t prefer, unused = 0;
};
constexpr unsigned long set_epoll_parameters = _IOW(0x8a, 0x01, EpollParameters);
constexpr std::size_t fair_share_at_least = 16;   // messages per socket and call, so that many ports stay cheap
constexpr std::uint32_t looks_at_all_every = 16;  // interval at which all sockets are checked for being empty

void validate(const SocketBackendConfig& config) {
    if (config.ports.empty() || config.ports.size() > 65535)
        throw ConfigError("receive.ports", "1 to 65535 ports", std::to_string(config.ports.size()),
                          "Name one port per stream.");
    if (config.batch_messages == 0 || config.batch_messages > max_batch_datagrams)
        throw ConfigError("receive.batch_datagrams", "must be 1 to 1024", std::to_string(config.batch_messages),
                          "32 to 64 are enough to hide the system call.");
    if (config.max_datagram_bytes == 0 || config.max_datagram_bytes > super_packet_bytes)
        throw ConfigError("max_datagram_bytes", "must be 1 to 65536", std::to_string(config.max_datagram_bytes),
                          "Use 65536 unless memory is scarce.");
}

}  // namespace

SocketBackend::SocketBackend(const SocketBackendConfig& config)
    : config_(config), slot_bytes_(config.gro ? super_packet_bytes : config.max_datagram_bytes) {
    validate(config);
    sockets_.reserve(config.ports.size());
    for (const std::uint16_t port : config.ports)
        sockets_.emplace_back(UdpSocketConfig{.address = config.address,
                                              .group = config.group,
                                              .port = port,
                                              .gro = config.gro,
                                              .receive_buffer_bytes = config.receive_buffer_bytes,
                                              .notes = config.notes,
                                              .busy_poll_us = config.busy_poll_us});
    const std::size_t n_slots = config.batch_messages;
    slots_ = std::make_unique<std::byte[]>(n_slots * slot_bytes_);
    controls_ = std::make_unique<std::byte[]>(n_slots * UdpSocket::control_bytes);
    vectors_.resize(n_slots);
    sources_.resize(n_slots);
    headers_.resize(n_slots);
    messages_.resize(n_slots);
    for (std::size_t i = 0; i < n_slots; ++i) {
        vectors_[i] = {slots_.get() + i * slot_bytes_, slot_bytes_};
        headers_[i].msg_hdr.msg_iov = &vectors_[i];
        headers_[i].msg_hdr.msg_iovlen = 1;
        headers_[i].msg_hdr.msg_name = &sources_[i];
        headers_[i].msg_hdr.msg_control = controls_.get() + i * UdpSocket::control_bytes;
    }
    headers_into_ = headers_;
    n_at_once_ = n_slots;
    wanted_.assign(sockets_.size(), 1);
    is_empty_.assign(sockets_.size(), 0);
    n_super_packets_.assign(sockets_.size(), 0);
    n_read_at_once_ = std::max<std::size_t>(1, n_slots / fair_share_at_least);
    ready_.resize(std::max(n_read_at_once_, sockets_.size()));
    watch_all();
    if (config.busy_poll_us > 0) poll_queues();
}

SocketBackend::~SocketBackend() {
    if (epoll_ >= 0) close(epoll_);
}

void SocketBackend::watch_all() {
    epoll_ = epoll_create1(0);
    if (epoll_ < 0) throw SystemError("cannot watch UDP ports", errno, "Raise the limit of open files: `ulimit -n`.");
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
        epoll_event interest{};
        interest.events = EPOLLIN;
        interest.data.u32 = static_cast<std::uint32_t>(i);
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, sockets_[i].descriptor(), &interest) == 0) continue;
        const int error_number = errno;
        close(epoll_);
        throw SystemError(fmt::format("cannot watch UDP port {}", sockets_[i].port()), error_number,
                          "Raise `sysctl fs.epoll.max_user_watches`.");
    }
}

/// With several ports the system polls in epoll_wait, with these parameters (Linux 6.9; older kernels use the machine's
/// setting net.core.busy_poll).
void SocketBackend::poll_queues() noexcept {
    const EpollParameters parameters{.busy_poll_us = config_.busy_poll_us, .budget = 8, .prefer = 1};
    epoll_polls_ = ioctl(epoll_, set_epoll_parameters, &parameters) == 0;
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t SocketBackend::receive(std::span<Datagram> batch) noexcept {
    if (next_message_ == n_messages_)
        take_messages();
    else
        std::ranges::fill(is_empty_, 0);  // sockets that are not looked at are not known to be empty
    std::size_t n_lent = 0;
    while (next_message_ < n_messages_ && n_lent < batch.size())
        if (!lend_next(messages_[next_message_], batch[n_lent++])) ++next_message_;
    for (std::size_t i = next_message_; i < n_messages_; ++i) is_empty_[messages_[i].stream] = 0;
    return n_lent;
}

/// Called only when everything is lent: until then the caller uses the slots.
void SocketBackend::take_messages() noexcept {
    n_messages_ = next_message_ = 0;
    const std::size_t n_ready = find_ready();
    for (std::size_t i = 0; i < n_ready && n_messages_ < n_at_once_; ++i) {
        const std::size_t share = (n_at_once_ - n_messages_) / (n_ready - i);
        take_from(static_cast<std::uint16_t>(ready_[i].data.u32), std::max<std::size_t>(1, share));
    }
    choose_n_at_once();
}

/// Chosen by the length of the last messages.
void SocketBackend::choose_n_at_once() noexcept {
    std::size_t n_bytes = 0;
    for (std::size_t i = 0; i < n_messages_; ++i) n_bytes += messages_[i].rest.size();
    if (n_bytes == 0) return;
    const std::size_t n_cached = call_bytes_ * n_messages_ / n_bytes;
    n_at_once_ = std::clamp(n_cached, std::min<std::size_t>(2, headers_.size()), headers_.size());
}

/// Finds sockets with datagrams. If there is room to list all of them, those not listed are empty. PERF NOTE: listing
/// costs 80 ns per socket, so usually only as many are listed as will be read.
std::size_t SocketBackend::find_ready() noexcept {
    std::ranges::fill(is_empty_, 0);
    if (sockets_.size() == 1) {  // reading shows as much as polling
        ready_[0].data.u32 = 0;
        return wanted_[0];
    }
    const std::size_t n_named = n_looks_++ % looks_at_all_every == 0 ? ready_.size() : n_read_at_once_;
    const int n_ready = epoll_wait(epoll_, ready_.data(), static_cast<int>(n_named), 0);
    if (n_ready < 0) return 0;
    if (static_cast<std::size_t>(n_ready) < n_named || n_named == ready_.size()) std::ranges::fill(is_empty_, 1);
    for (int i = 0; i < n_ready; ++i) is_empty_[ready_[static_cast<std::size_t>(i)].data.u32] = 0;
    const auto end = std::remove_if(ready_.begin(), ready_.begin() + n_ready,
                                    [this](const epoll_event& event) { return wanted_[event.data.u32] == 0; });
    return std::min(static_cast<std::size_t>(end - ready_.begin()), n_read_at_once_);
}

void SocketBackend::take_from(std::uint16_t stream, std::size_t n_at_most) noexcept {
    const std::span<mmsghdr> headers = std::span(headers_).subspan(n_messages_, n_at_most);
    const std::size_t n_taken = take(stream, headers);
    for (std::size_t i = 0; i < n_taken; ++i, ++n_messages_) messages_[n_messages_] = read(stream, n_messages_);
}

/// If fewer messages came than requested, the socket is empty.
std::size_t SocketBackend::take(std::uint16_t stream, std::span<mmsghdr> headers) noexcept {
    prepare(headers);
    const std::size_t n_taken = sockets_[stream].receive(headers);
    is_empty_[stream] = n_taken < headers.size() ? 1 : 0;
    return n_taken;
}

void SocketBackend::prepare(std::span<mmsghdr> headers) noexcept {
    for (mmsghdr& header : headers) {
        header.msg_hdr.msg_controllen = UdpSocket::control_bytes;
        header.msg_hdr.msg_flags = 0;
        header.msg_hdr.msg_namelen = sizeof(SocketAddress);
    }
}

std::size_t SocketBackend::find_ready(std::span<std::uint16_t> streams) noexcept {
    const std::size_t n_ready = std::min(find_ready(), streams.size());
    for (std::size_t i = 0; i < n_ready; ++i) streams[i] = static_cast<std::uint16_t>(ready_[i].data.u32);
    return n_ready;
}

std::size_t SocketBackend::receive_into(std::uint16_t stream, std::span<const iovec> places,
                                        std::span<Datagram> batch) noexcept {
    const std::size_t n_at_most = std::min({places.size(), batch.size(), headers_into_.size()});
    const std::span<mmsghdr> headers = std::span(headers_into_).first(n_at_most);
    for (std::size_t i = 0; i < n_at_most; ++i) headers[i].msg_hdr.msg_iov = const_cast<iovec*>(&places[i]);
    const std::size_t n_taken = take(stream, headers);
    for (std::size_t i = 0; i < n_taken; ++i) {
        const ReceiveNotes notes = sockets_[stream].read_notes(headers[i].msg_hdr);
        batch[i] = {.bytes = {static_cast<const std::byte*>(places[i].iov_base),
                              std::min<std::size_t>(headers[i].msg_len, places[i].iov_len)},
                    .stream = stream,
                    .cut = (headers[i].msg_hdr.msg_flags & MSG_TRUNC) != 0,
                    .kernel_ns = notes.kernel_ns,
                    .source = source_of(sources_[i])};
    }
    return n_taken;
}

Message SocketBackend::read(std::uint16_t stream, std::size_t slot) noexcept {
    mmsghdr& header = headers_[slot];
    const ReceiveNotes notes = sockets_[stream].read_notes(header.msg_hdr);
    const std::size_t n_bytes = std::min<std::size_t>(header.msg_len, slot_bytes_);
    const bool is_super = is_super_packet(notes.segment_bytes, n_bytes);
    n_super_packets_[stream] += is_super ? 1 : 0;
    return {.rest = {slots_.get() + slot * slot_bytes_, n_bytes},
            .segment_bytes = is_super ? notes.segment_bytes : n_bytes,
            .stream = stream,
            .cut = (header.msg_hdr.msg_flags & MSG_TRUNC) != 0,
            .kernel_ns = notes.kernel_ns,
            .source = source_of(sources_[slot])};
}

std::uint64_t SocketBackend::kernel_dropped(std::uint16_t stream) const noexcept {
    return sockets_[stream].n_dropped();
}

std::string SocketBackend::busy_poll_words() const {
    if (config_.busy_poll_us == 0) return "";
    const UdpSocket& first = sockets_.front();
    if (first.busy_poll_error() != 0)
        return fmt::format(", busy polling refused: {} (give the program CAP_NET_ADMIN)",
                           std::generic_category().message(first.busy_poll_error()));
    if (sockets_.size() > 1 && !epoll_polls_)
        return ", busy polling of several ports needs Linux 6.9 (or `sysctl net.core.busy_poll`)";
    const unsigned queue = first.queue();
    return queue == 0
               ? fmt::format(", busy polling {} us without effect so far: datagrams came through no queue of a card",
                             config_.busy_poll_us)
               : fmt::format(", busy polling {} us of queue {}", config_.busy_poll_us, queue);
}

std::string SocketBackend::describe() const {
    const std::size_t granted = sockets_.front().receive_buffer_bytes();
    const bool less = granted < config_.receive_buffer_bytes;
    return fmt::format(
        "{} UDP port{} on {}, recvmmsg of {}, super-packets (GRO) {}, receive buffer {} kB of {} kB asked{}{}",
        sockets_.size(), sockets_.size() == 1 ? "" : "s", config_.address, config_.batch_messages,
        sockets_.front().has_gro() ? "asked for" : (config_.gro ? "not supported" : "off"), granted / 1000,
        config_.receive_buffer_bytes / 1000,
        less ? " (raise `sysctl net.core.rmem_max`, or give the program CAP_NET_ADMIN)" : "", busy_poll_words());
}

}  // namespace anello::receive
