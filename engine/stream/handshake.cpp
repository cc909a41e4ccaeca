// SPDX-License-Identifier: Apache-2.0
#include "stream/handshake.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "stream/control_socket.hpp"
#include "stream/ring_layout.hpp"
#include "stream/ring_memory.hpp"

namespace anello::stream {
namespace {

constexpr std::uint64_t hello_magic = magic_of("ANELSTRM");
constexpr std::uint32_t hello_version = 1;
constexpr std::size_t descriptors_of_ring = 3;

/// docs/reference/stream-layout.md. With it, where the side receives: its ring, its data bell, its space bell.
struct Hello {
    std::uint64_t magic = hello_magic;
    std::uint32_t version = hello_version;
    std::uint32_t flags = 0;
    std::uint64_t ring_bytes = 0;
    std::array<std::uint64_t, 5> reserved{};
};
static_assert(sizeof(Hello) == 64);

/// What we give: a ring that we read from.
struct OwnRing {
    SharedRing memory;
    Descriptor data_bell, space_bell;
};

template <typename T>
std::span<std::byte> bytes_of(T& packet) noexcept {
    return std::as_writable_bytes(std::span(&packet, 1));
}

std::optional<OwnRing> make_own_ring(const StreamConfig& config) {
    if (config.direction == Direction::send) return std::nullopt;
    return OwnRing{std::make_shared<const RingMemory>(RingMemory::create(config.ring_bytes)), make_event_descriptor(),
                   make_event_descriptor()};
}

bool say_hello(const Descriptor& socket, const StreamConfig& config, const std::optional<OwnRing>& own) {
    Hello hello;
    hello.flags = flags_of(config.direction);
    if (!own) return send_packet(socket, bytes_of(hello), {});
    hello.ring_bytes = config.ring_bytes;
    const std::array numbers{own->memory->descriptor(), own->data_bell.number(), own->space_bell.number()};
    return send_packet(socket, bytes_of(hello), numbers);
}

void expect(PacketStatus status) {
    if (status == PacketStatus::silent) throw Refused{Refusal::silent, "the other side said nothing in time"};
    if (status == PacketStatus::gone) throw Refused{Refusal::gone, "the other side went away"};
    if (status == PacketStatus::malformed) throw Refused{Refusal::malformed, "the other side's words are not ours"};
}

/// An event descriptor cannot make us wait or write elsewhere; anything else that was handed over could.
bool is_event(const Descriptor& descriptor) {
    std::array<char, 64> target{};
    const std::string link = fmt::format("/proc/self/fd/{}", descriptor.number());
    const ssize_t n = readlink(link.c_str(), target.data(), target.size() - 1);
    return n > 0 && std::strcmp(target.data(), "anon_inode:[eventfd]") == 0;
}

Hello hear_hello(const Descriptor& socket, std::vector<Descriptor>& descriptors, Nanoseconds deadline_ns) {
    Hello hello;
    expect(receive_packet(socket, bytes_of(hello), descriptors, deadline_ns));
    if (hello.magic != hello_magic) throw Refused{Refusal::malformed, "the other side's hello is not ours"};
    if (hello.version != hello_version)
        throw Refused{Refusal::version,
                      fmt::format("the other side has version {}, we have {}", hello.version, hello_version)};
    return hello;
}

std::unique_ptr<SendEnd> attach_to(const Hello& hello, std::vector<Descriptor> descriptors, const StreamConfig& config,
                                   const ControlSocket& control) {
    const bool wanted = (hello.flags & hello_receives) != 0;
    if (descriptors.size() != (wanted ? descriptors_of_ring : 0) || (!wanted && hello.ring_bytes != 0))
        throw Refused{Refusal::malformed, fmt::format("a hello with {} descriptors", descriptors.size())};
    if (!wanted) return nullptr;
    if (!is_event(descriptors[1]) || !is_event(descriptors[2]))
        throw Refused{Refusal::malformed, "the other side's bells are no event descriptors"};
    if (hello.ring_bytes > config.max_peer_ring_bytes)
        throw Refused{Refusal::ring, fmt::format("the other side's ring of {} bytes is above our limit of {}",
                                                 hello.ring_bytes, config.max_peer_ring_bytes)};
    try {
        auto ring = std::make_shared<const RingMemory>(RingMemory::attach(std::move(descriptors[0]), hello.ring_bytes));
        return std::make_unique<SharedSendEnd>(std::move(ring), std::move(descriptors[1]), std::move(descriptors[2]),
                                               control);
    } catch (const ConfigError& error) {
        throw Refused{Refusal::ring, error.what()};
    } catch (const SystemError& error) {
        throw Refused{Refusal::ring, error.what()};
    }
}

void agree(const Descriptor& socket, Refusal ours, Nanoseconds deadline_ns) {
    Verdict verdict;
    verdict.refusal = static_cast<std::uint64_t>(ours);
    const bool sent = send_packet(socket, bytes_of(verdict), {});
    if (ours != Refusal::none) return;
    if (!sent) throw Refused{Refusal::gone, "the other side went away"};
    std::vector<Descriptor> none;
    expect(receive_packet(socket, bytes_of(verdict), none, deadline_ns));
    if (verdict.magic != hello_magic) throw Refused{Refusal::malformed, "the other side's verdict is not ours"};
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
    std::optional<OwnRing> own = make_own_ring(config);
    const ControlSocket control = std::make_shared<const Descriptor>(std::move(socket));
    Handshake done;
    try {
        if (!say_hello(*control, config, own)) throw Refused{Refusal::gone, "the other side went away"};
        std::vector<Descriptor> descriptors;
        const Hello hello = hear_hello(*control, descriptors, deadline_ns);
        agree_on_direction(hello.flags, config.direction);
        done.hands.send = attach_to(hello, std::move(descriptors), config, control);
        agree(*control, Refusal::none, deadline_ns);
    } catch (const Refused& refused) {
        agree(*control, refused.refusal, deadline_ns);
        return {refused.refusal, refused.reason, {}};
    }
    if (own)
        done.hands.receive = std::make_unique<SharedReceiveEnd>(std::move(own->memory), std::move(own->data_bell),
                                                                std::move(own->space_bell), control);
    return done;
}

}  // namespace anello::stream
