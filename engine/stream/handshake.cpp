// SPDX-License-Identifier: Apache-2.0
#include "stream/handshake.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "stream/control_socket.hpp"
#include "stream/ring/ring_layout.hpp"
#include "stream/ring/ring_memory.hpp"

namespace anello::stream {
namespace {

constexpr std::uint64_t hello_magic = magic_of("ANELSTRM");
constexpr std::uint32_t hello_version = 2;  // version 1 had bells on which the peer could block us

/// See docs/reference/stream-layout.md. A side that receives sends its ring with it.
struct Hello {
    std::uint64_t magic = hello_magic;
    std::uint32_t version = hello_version;
    std::uint32_t flags = 0;
    std::uint64_t ring_bytes = 0;
    std::array<std::uint64_t, 5> reserved{};
};
static_assert(sizeof(Hello) == 64);

template <typename T>
std::span<std::byte> packet_bytes(T& packet) noexcept {
    return std::as_writable_bytes(std::span(&packet, 1));
}

/// The ring from which this side reads. Null: it does not receive.
SharedRing make_own_ring(const StreamConfig& config) {
    if (config.direction == Direction::send) return nullptr;
    return std::make_shared<const RingMemory>(RingMemory::create(config.ring_bytes));
}

bool say_hello(const Descriptor& socket, const StreamConfig& config, const SharedRing& own) {
    Hello hello;
    hello.flags = flags_of(config.direction);
    if (own == nullptr) return send_packet(socket, packet_bytes(hello), {});
    hello.ring_bytes = config.ring_bytes;
    const std::array numbers{own->descriptor()};
    return send_packet(socket, packet_bytes(hello), numbers);
}

void expect(PacketStatus status) {
    if (status == PacketStatus::silent) throw Refused{Refusal::silent, "the other side was silent for too long"};
    if (status == PacketStatus::gone) throw Refused{Refusal::gone, "the other side has gone"};
    if (status == PacketStatus::malformed) throw Refused{Refusal::malformed, "the other side's words are not ours"};
}

Hello hear_hello(const Descriptor& socket, Attached& attached, Nanoseconds deadline_ns) {
    Hello hello;
    expect(receive_packet(socket, packet_bytes(hello), attached, deadline_ns));
    if (hello.magic != hello_magic) throw Refused{Refusal::malformed, "the other side's hello is not ours"};
    if (hello.version != hello_version)
        throw Refused{Refusal::version,
                      fmt::format("the other side has version {}, we have {}", hello.version, hello_version)};
    return hello;
}

/// The ring into which this side writes. Null: the other side does not receive.
SharedRing attach_to(const Hello& hello, std::vector<Descriptor>& descriptors, const StreamConfig& config) {
    const bool wanted = (hello.flags & hello_receives) != 0;
    if (descriptors.size() != (wanted ? 1 : 0) || (!wanted && hello.ring_bytes != 0))
        throw Refused{Refusal::malformed, fmt::format("a hello with {} descriptors", descriptors.size())};
    if (!wanted) return nullptr;
    if (hello.ring_bytes > config.max_peer_ring_bytes)
        throw Refused{Refusal::ring, fmt::format("the other side's ring of {} bytes is above our limit of {}",
                                                 hello.ring_bytes, config.max_peer_ring_bytes)};
    try {
        return std::make_shared<const RingMemory>(RingMemory::attach(std::move(descriptors[0]), hello.ring_bytes));
    } catch (const ConfigError& error) {
        throw Refused{Refusal::ring, error.what()};
    } catch (const SystemError& error) {
        throw Refused{Refusal::ring, error.what()};
    }
}

/// Checks the sender's user, since another user may have opened the socket.
void check_user(const Attached& hello, const StreamConfig& config) {
    if (hello.process != 0 && !is_known_user(hello.user, config.allowed_users))
        throw Refused{Refusal::user, fmt::format("the other side is of user {}, which we do not know", hello.user)};
}

/// Called before the verdict, so that the process that sends the verdict was alive when watching began.
Descriptor watch_process(const Attached& hello) {
    Descriptor process = open_process(hello.process);
    if (!process.open() && errno == ESRCH && hello.process != 0 && hello.process != getpid())
        throw Refused{Refusal::gone, "the other side's process has ended"};
    return process;
}

void agree(const Descriptor& socket, Refusal ours, const Attached& hello, Nanoseconds deadline_ns) {
    Verdict verdict;
    verdict.refusal = static_cast<std::uint64_t>(ours);
    const bool sent = send_packet(socket, packet_bytes(verdict), {});
    if (ours != Refusal::none) return;
    if (!sent) throw Refused{Refusal::gone, "the other side has gone"};
    Attached attached;
    expect(receive_packet(socket, packet_bytes(verdict), attached, deadline_ns));
    if (verdict.magic != hello_magic) throw Refused{Refusal::malformed, "the other side's verdict is not ours"};
    if (attached.process != hello.process)
        throw Refused{Refusal::malformed, "the other side's hello and verdict are of two processes"};
    if (verdict.refusal != 0)
        throw Refused{Refusal::gone, fmt::format("the other side refused us (reason {})", verdict.refusal)};
}

}  // namespace

std::uint32_t flags_of(Direction direction) noexcept {
    return direction == Direction::both   ? hello_sends | hello_receives
           : direction == Direction::send ? hello_sends
                                          : hello_receives;
}

void agree_on_direction(std::uint32_t flags, Direction own) {
    const std::uint32_t mine = flags_of(own);
    const std::uint32_t wanted = (mine & hello_sends ? hello_receives : 0) | (mine & hello_receives ? hello_sends : 0);
    if (flags != wanted)
        throw Refused{Refusal::direction,
                      fmt::format("our direction is {}, and that does not fit the other side's", name_of(own))};
}

Handshake shake_hands(Descriptor socket, const StreamConfig& config, Nanoseconds deadline_ns) {
    const SharedRing own = make_own_ring(config);
    Attached attached;
    try {
        if (!say_hello(socket, config, own)) throw Refused{Refusal::gone, "the other side has gone"};
        const Hello hello = hear_hello(socket, attached, deadline_ns);
        check_user(attached, config);
        agree_on_direction(hello.flags, config.direction);
        SharedRing theirs = attach_to(hello, attached.descriptors, config);
        Descriptor process = watch_process(attached);
        agree(socket, Refusal::none, attached, deadline_ns);
        const auto line = std::make_shared<BellLine>(std::move(socket), std::move(process));
        Handshake done;
        if (theirs) done.hands.send = std::make_unique<SharedSendEnd>(std::move(theirs), line);
        if (own) done.hands.receive = std::make_unique<SharedReceiveEnd>(own, line);
        return done;
    } catch (const Refused& refused) {
        agree(socket, refused.refusal, attached, deadline_ns);
        return {refused.refusal, refused.reason, {}};
    }
}

}  // namespace anello::stream
