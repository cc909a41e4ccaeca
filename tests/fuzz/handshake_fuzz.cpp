// SPDX-License-Identifier: Apache-2.0
// A program that connects to a stream's socket: packets of any content and size, with descriptors of any kind, of
// memory that is not what was said of it. A handshake comes to an end, with a reason; where it was agreed, all of the
// ring can be written and read.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/clock.hpp"
#include "core/kernel_handle.hpp"
#include "stream/control_socket.hpp"
#include "stream/handshake.hpp"
#include "stream/ring/ring_layout.hpp"

using namespace anello;
using namespace anello::stream;

namespace {

using Input = std::span<const std::byte>;

void require(bool condition) {
    if (!condition) std::abort();
}

std::uint8_t take(Input& input) {
    if (input.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(input.front());
    input = input.subspan(1);
    return value;
}

/// A hello as it should be, for a ring of this size (docs/reference/stream-layout.md).
std::vector<std::byte> right_hello(std::uint32_t flags, std::uint64_t ring_bytes) {
    std::vector<std::byte> hello(64);
    const std::uint64_t magic = magic_of("ANELSTRM");
    const std::uint32_t version = 2;
    std::memcpy(hello.data(), &magic, sizeof magic);
    std::memcpy(hello.data() + 8, &version, sizeof version);
    std::memcpy(hello.data() + 12, &flags, sizeof flags);
    std::memcpy(hello.data() + 16, &ring_bytes, sizeof ring_bytes);
    return hello;
}

/// Descriptors that a peer may hand over as its ring: memory, with too few bytes, without seals; or no memory.
Descriptor ring_of(std::uint8_t kind, std::size_t ring_bytes) {
    if (kind % 8 == 7) return Descriptor(eventfd(0, EFD_CLOEXEC));
    Descriptor memory(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const std::size_t n_bytes = (ring_bytes + 4096) >> (kind % 8 == 6 ? 1 : 0);
    require(ftruncate(memory.number(), static_cast<off_t>(n_bytes)) == 0);
    const std::uint32_t version = kind % 8 == 4 ? ring_version + 1 : ring_version;
    const std::uint64_t said_bytes = ring_bytes << (kind % 8 == 5 ? 1 : 0);
    const RingHeader header{ring_magic, version, 0, said_bytes, {}, {}, {}, {}, {}, {}, {}};
    require(pwrite(memory.number(), &header, sizeof header, static_cast<off_t>(ring_bytes)) == sizeof header);
    if (kind % 8 != 3) require(fcntl(memory.number(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    return memory;
}

void send(const Descriptor& socket, Input packet, std::span<const int> descriptors) {
    if (!packet.empty()) send_packet(socket, packet, descriptors);
}

/// All of it is there, twice in a row.
void touch(const RingEnd& end) {
    for (std::size_t i = 0; i < 2 * end.size_bytes(); i += 4096) end.bytes()[i] = std::byte{1};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(reinterpret_cast<const std::byte*>(data), size);
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    Descriptor ours(ends[0]), theirs(ends[1]);
    const int on = 1;
    for (const int end : ends) require(setsockopt(end, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);

    StreamConfig config;
    config.ring_bytes = smallest_ring_bytes;
    config.max_peer_ring_bytes = 4 * smallest_ring_bytes;
    config.direction = static_cast<Direction>(take(input) % 3);
    const std::size_t ring_bytes = smallest_ring_bytes << take(input) % 5;
    const std::uint8_t kind = take(input), n_rings = take(input);
    const std::uint32_t flags = config.direction == Direction::both   ? 3
                                : config.direction == Direction::send ? hello_receives
                                                                      : hello_sends;
    const bool receives = (flags & hello_receives) != 0;
    std::vector<std::byte> hello = right_hello(flags, receives ? ring_bytes : 0);
    for (std::uint8_t n_changed = take(input) % 4; n_changed > 0; --n_changed) {
        const std::size_t where = take(input) % hello.size();
        hello[where] ^= static_cast<std::byte>(take(input));
    }
    if (const std::uint8_t cut = take(input); cut % 4 == 0) hello.resize(cut % (hello.size() + 1));

    std::vector<Descriptor> rings;
    std::vector<int> numbers;
    for (int n = n_rings % 4 == 3 ? n_rings % 7 : receives ? 1 : 0; n > 0; --n) {
        rings.push_back(ring_of(kind, ring_bytes));
        numbers.push_back(rings.back().number());
    }
    send(theirs, hello, numbers);
    Verdict verdict;
    verdict.refusal = take(input) % 8 == 7 ? 1 : 0;
    send(theirs, std::as_bytes(std::span(&verdict, 1)), {});
    send(theirs, input.first(std::min<std::size_t>(input.size(), 200)), {});
    shutdown(theirs.number(), SHUT_WR);

    const Handshake result = shake_hands(std::move(ours), config, SystemClock().monotonic_ns() + 1'000'000);
    require((result.refusal == Refusal::none) == result.reason.empty());
    if (result.refusal != Refusal::none) return 0;
    require((result.hands.send != nullptr) == (config.direction != Direction::receive));
    require((result.hands.receive != nullptr) == (config.direction != Direction::send));
    if (result.hands.send) touch(*result.hands.send);
    if (result.hands.receive) touch(*result.hands.receive);
    return 0;
}
