// SPDX-License-Identifier: Apache-2.0
// What a peer of the farm may send over TCP (a stream in pieces) and UDP (datagrams): no bytes make us write beyond the
// places we gave, tell the listener of a message twice, or lose count.
// Built from: engine/fabric/tcp/tcp_frame.cpp engine/fabric/udp/udp_datagram.cpp engine/fabric/udp/udp_reassembly.cpp
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "core/counters/counters.hpp"
#include "fabric/tcp/tcp_frame.hpp"
#include "fabric/udp/udp_reassembly.hpp"

using namespace anello::fabric;
using Bytes = std::vector<std::byte>;

namespace {

constexpr std::size_t max_message_bytes = 8192;
constexpr std::size_t message_offset = 24;  // of a datagram's message number, docs/reference/fabric.md

void require(bool condition) {
    if (!condition) std::abort();
}

/// Gives each payload a heap block of its exact size, so that any write beyond shows; now and then none.
class Places {
  public:
    std::span<std::byte> next(std::size_t n_bytes) {
        if (++n_asked_ % 5 == 0) return {};
        places_.push_back(std::make_unique<std::byte[]>(n_bytes));
        return {places_.back().get(), n_bytes};
    }

  private:
    std::vector<std::unique_ptr<std::byte[]>> places_;
    std::size_t n_asked_ = 0;
};

class Sink final : public FrameSink {
  public:
    Destination begin_frame(Peer, const FrameHead& head, std::span<const std::byte> header) noexcept override {
        require(!open_ && header.size() == head.header_bytes && well_formed(head, max_message_bytes));
        open_ = true;
        if (head.payload_bytes > max_message_bytes) return {head.tag % 2 == 0, nullptr};  // a put beyond any region
        place_ = places_.next(head.payload_bytes);
        return {true, place_.data()};
    }
    bool end_frame(Peer, const FrameHead&, std::span<const std::byte>, std::byte* payload) noexcept override {
        require(open_ && (payload == nullptr || payload == place_.data()));
        open_ = false;
        return true;
    }

  private:
    Places places_;
    std::span<std::byte> place_;
    bool open_ = false;
};

/// The first byte of each piece says how much of the rest comes at once.
void fuzz_tcp(std::span<const std::byte> input) {
    Sink sink;
    FrameReader reader(sink, max_message_bytes);
    reader.reset(1);
    while (input.size() > 1) {
        const std::size_t n_wanted = 1 + 8 * static_cast<std::size_t>(input[0]);
        std::span<const std::byte> piece = input.subspan(1, std::min(n_wanted, input.size() - 1));
        input = input.subspan(1 + piece.size());
        while (!piece.empty()) {
            std::size_t n_taken = 0;
            for (const iovec& room : reader.room()) {
                const std::size_t n_now = std::min(room.iov_len, piece.size());
                if (n_now > 0) std::memcpy(room.iov_base, piece.data(), n_now);
                piece = piece.subspan(n_now);
                n_taken += n_now;
            }
            require(n_taken > 0);
            if (!reader.take(n_taken)) return;
        }
    }
}

class Recorder final : public Listener {
  public:
    std::span<std::byte> place(Peer, std::span<const std::byte> header, std::size_t n_bytes) noexcept override {
        require(header.size() <= max_header_bytes && n_bytes > 0 && n_bytes <= max_message_bytes);
        const std::span<std::byte> place = places_.next(n_bytes);
        if (!place.empty()) open_[place.data()] = n_bytes;
        return place;
    }
    void on_message(Peer, std::span<const std::byte>, std::span<std::byte> payload) noexcept override {
        ++n_messages;
        if (!payload.empty()) require(open_.erase(payload.data()) == 1);
    }
    void on_lost(Peer, std::span<const std::byte>) noexcept override { ++n_lost; }
    void on_signal(Peer, std::uint64_t) noexcept override { std::abort(); }
    void on_done(Peer, std::uint64_t, Status) noexcept override { std::abort(); }
    void on_peer(Peer, PeerState) noexcept override { std::abort(); }

    std::size_t n_open() const { return open_.size(); }
    std::uint64_t n_messages = 0, n_lost = 0;

  private:
    Places places_;
    std::map<const std::byte*, std::size_t> open_;
};

/// The first number: 0, or one from which numbers pass 2^32, or reach their end below 2^64.
std::uint64_t begin_of(std::uint8_t choice) {
    constexpr std::uint64_t last = UINT64_MAX - 65'536;
    return choice % 3 == 0 ? 0 : choice % 3 == 1 ? (std::uint64_t{1} << 32) - 40 : last - 40;
}

/// Two bytes of length before each datagram, whose number counts from where they begin; what is not said of its head is
/// made right, or few would come further.
void fuzz_udp(std::span<const std::byte> input, std::uint64_t begin) {
    using anello::CounterPage, anello::Counters;
    static CounterPage page{std::string()};
    static Counters<FabricCounter> counters = page.add_block<FabricCounter>("fabric");
    for (std::size_t i = 0; i < static_cast<std::size_t>(FabricCounter::count); ++i)
        counters.set(static_cast<FabricCounter>(i), 0);
    Recorder listener;
    UdpReassembly reassembly(1, max_message_bytes, listener, counters);
    reassembly.begin_at(begin);
    std::uint64_t expected_below = begin;
    for (std::int64_t now_ns = 0; input.size() > 2; now_ns += 10) {
        std::uint16_t length = 0;
        std::memcpy(&length, input.data(), sizeof length);
        const std::size_t n_bytes = std::min<std::size_t>(length % 2048, input.size() - 2);
        Bytes datagram(input.begin() + 2, input.begin() + 2 + static_cast<std::ptrdiff_t>(n_bytes));
        input = input.subspan(2 + n_bytes);
        if (datagram.size() >= 5) {
            std::memcpy(datagram.data(), &udp_magic, sizeof udp_magic);
            datagram[4] = std::byte{udp_version};
        }
        if (datagram.size() >= message_offset + sizeof(std::uint64_t)) {
            std::uint64_t number = 0;
            std::memcpy(&number, datagram.data() + message_offset, sizeof number);
            number += begin;
            std::memcpy(datagram.data() + message_offset, &number, sizeof number);
        }
        DatagramHead head;
        PieceView piece;
        if (!parse_head(datagram, head) || !parse_piece(datagram, head, max_message_bytes, piece)) continue;
        if (reassembly.take(piece, now_ns)) expected_below = std::max(expected_below, head.message + 1);
        reassembly.give_up_older_than(500, now_ns);
    }
    const auto count = [&](FabricCounter counter) { return counters[counter]; };
    require(listener.n_messages == count(FabricCounter::messages_received));
    require(listener.n_lost <= count(FabricCounter::messages_lost));
    reassembly.reset(UINT64_MAX);
    // Each number came to one end, and only one.
    require(listener.n_messages + count(FabricCounter::messages_discarded) + count(FabricCounter::messages_lost) ==
            expected_below - begin);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::span input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
    data[0] % 2 == 0 ? fuzz_tcp(input) : fuzz_udp(input, begin_of(data[0] / 2));
    return 0;
}
