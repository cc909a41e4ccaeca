// SPDX-License-Identifier: Apache-2.0
#include "receive/xdp/xdp_socket.hpp"

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "core/errors.hpp"
#include "receive/datagrams/busy_poll.hpp"

namespace anello::receive {
namespace {

// From Linux 6.6, newer than the headers of Debian 12.
constexpr std::uint16_t use_pieces = 1 << 4;
constexpr std::uint32_t piece_continues = 1 << 0;
constexpr int frames_per_poll = 64;               // as many as one receive() takes
constexpr std::uint32_t completion_entries = 64;  // for sending, which is not used, but the kernel requires it

[[noreturn]] void fail_by_xdp(const char* action, int error_number) {
    switch (error_number) {
        case EPERM:
        case EACCES:
            throw SystemError(action, error_number,
                              "Run as root, or give the program CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, or set "
                              "receive.backend = \"socket\".");
        case EBUSY:
            throw SystemError(action, error_number, "Another program has this queue by AF_XDP: stop it.");
        case ENOBUFS:
        case ENOMEM:
            throw SystemError(action, error_number, "Raise the limit of locked memory: `ulimit -l unlimited`.");
        default:
            throw SystemError(action, error_number,
                              "This kernel or driver cannot do it: set receive.backend = \"socket\".");
    }
}

template <typename T>
void set_xdp(int socket, int option, const T& value, const char* action) {
    if (setsockopt(socket, SOL_XDP, option, &value, sizeof value) != 0) fail_by_xdp(action, errno);
}

std::uint32_t load_acquire(std::uint32_t* at) noexcept {
    return std::atomic_ref(*at).load(std::memory_order_acquire);  // pairs with the kernel's release
}

void store_release(std::uint32_t* at, std::uint32_t value) noexcept {
    std::atomic_ref(*at).store(value, std::memory_order_release);  // pairs with the kernel's acquire
}

}  // namespace

XdpSocket::XdpSocket(const XdpSocketConfig& config, std::span<std::byte> memory)
    : socket_(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)) {
    if (descriptor() < 0) fail_by_xdp("cannot open an AF_XDP socket", errno);
    const auto n_slots = static_cast<std::uint32_t>(memory.size() / slot_bytes);
    xdp_umem_reg registration{};
    registration.addr = reinterpret_cast<std::uintptr_t>(memory.data());
    registration.len = memory.size();
    registration.chunk_size = slot_bytes;
    set_xdp(descriptor(), XDP_UMEM_REG, registration, "cannot share memory with an AF_XDP socket");
    set_xdp(descriptor(), XDP_UMEM_FILL_RING, n_slots, "cannot make an AF_XDP ring");
    set_xdp(descriptor(), XDP_UMEM_COMPLETION_RING, completion_entries, "cannot make an AF_XDP ring");
    set_xdp(descriptor(), XDP_RX_RING, n_slots, "cannot make an AF_XDP ring");
    map_rings(n_slots);
    for (std::uint64_t slot = 0; slot < n_slots; ++slot) give_back(slot * slot_bytes);
    publish_given_back();
    sockaddr_xdp where{};
    where.sxdp_family = AF_XDP;
    where.sxdp_ifindex = config.interface_index;
    where.sxdp_queue_id = config.queue;
    where.sxdp_flags = static_cast<std::uint16_t>((config.zero_copy ? XDP_ZEROCOPY : XDP_COPY) | XDP_USE_NEED_WAKEUP |
                                                  (config.pieces ? use_pieces : 0));
    bind_to(where);
    if (config.busy_poll_us == 0) return;
    busy_poll_error_ = ask_for_busy_poll(descriptor(), config.busy_poll_us, frames_per_poll);
    polls_ = busy_poll_error_ == 0;
}

/// The kernel frees the queue of a closed socket later, so "busy" counts as an error only after half a second.
void XdpSocket::bind_to(const sockaddr_xdp& where) {
    for (int n_tries = 1; bind(descriptor(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0; ++n_tries) {
        if (errno != EBUSY || n_tries == 50) fail_by_xdp("cannot bind an AF_XDP socket", errno);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

void XdpSocket::map_rings(std::uint32_t n_entries) {
    xdp_mmap_offsets offsets{};
    socklen_t length = sizeof offsets;
    if (getsockopt(descriptor(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0 || length != sizeof offsets)
        fail_by_xdp("cannot ask for the AF_XDP rings", errno);
    fill_ = map_ring(offsets.fr, XDP_UMEM_PGOFF_FILL_RING, n_entries, sizeof(std::uint64_t));
    receive_ = map_ring(offsets.rx, XDP_PGOFF_RX_RING, n_entries, sizeof(xdp_desc));
}

XdpSocket::Ring XdpSocket::map_ring(const xdp_ring_offset& offsets, std::uint64_t page_offset, std::uint32_t n_entries,
                                    std::size_t entry_bytes) {
    SharedMapping mapped(descriptor(), page_offset, offsets.desc + n_entries * entry_bytes);
    if (!mapped.mapped()) fail_by_xdp("cannot map an AF_XDP ring", errno);
    std::byte* const begin = mapped.begin();
    return {.mapped = std::move(mapped),
            .producer = reinterpret_cast<std::uint32_t*>(begin + offsets.producer),
            .consumer = reinterpret_cast<std::uint32_t*>(begin + offsets.consumer),
            .flags = reinterpret_cast<std::uint32_t*>(begin + offsets.flags),
            .entries = begin + offsets.desc,
            .mask = n_entries - 1};
}

void XdpSocket::poll_queue() noexcept {
    if (polls_) recv(descriptor(), nullptr, 0, MSG_DONTWAIT);
}

std::uint32_t XdpSocket::n_ready() const noexcept {
    return load_acquire(receive_.producer) - n_taken_;
}

XdpSocket::Piece XdpSocket::ready(std::uint32_t position) const noexcept {
    const auto& entry = static_cast<const xdp_desc*>(receive_.entries)[(n_taken_ + position) & receive_.mask];
    return {entry.addr, entry.len, (entry.options & piece_continues) != 0};
}

void XdpSocket::take(std::uint32_t n_pieces) noexcept {
    n_taken_ += n_pieces;
    store_release(receive_.consumer, n_taken_);
}

/// The fill ring has one entry per slot, so there is always room.
void XdpSocket::give_back(std::uint64_t address) noexcept {
    static_cast<std::uint64_t*>(fill_.entries)[n_filled_++ & fill_.mask] = address & ~(std::uint64_t{slot_bytes} - 1);
}

void XdpSocket::publish_given_back() noexcept {
    store_release(fill_.producer, n_filled_);
    if ((load_acquire(fill_.flags) & XDP_RING_NEED_WAKEUP) != 0)  // a driver without slots sleeps until it is woken
        recvfrom(descriptor(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

/// A frame without a slot counts once, as dropped; the kernel's count of empty fill rings counts its attempts.
std::uint64_t XdpSocket::n_dropped() const noexcept {
    xdp_statistics statistics{};
    socklen_t length = sizeof statistics;
    if (getsockopt(descriptor(), SOL_XDP, XDP_STATISTICS, &statistics, &length) != 0) return 0;
    return statistics.rx_dropped + statistics.rx_ring_full;
}

}  // namespace anello::receive
