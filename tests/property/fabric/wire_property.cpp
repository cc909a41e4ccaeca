// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "conformance/fabric/fabric_farm.hpp"
#include "fabric/tcp/tcp_frame.hpp"
#include "fabric/udp/udp_reassembly.hpp"

/// Properties of two formats that hold whatever the network makes of their bytes.
namespace anello::fabric {
namespace {

using conformance::Bytes;
using conformance::pattern;
using conformance::Recorder;

struct Frame {
    FrameHead head;
    Bytes header, payload;
    bool operator==(const Frame& other) const {
        return std::ranges::equal(std::as_bytes(std::span(&head, 1)), std::as_bytes(std::span(&other.head, 1))) &&
               header == other.header && payload == other.payload;
    }
};

/// Takes all, or has no place for what `drops` names.
class Sink final : public FrameSink {
  public:
    Destination begin_frame(Peer, const FrameHead& head, std::span<const std::byte>) noexcept override {
        place_.assign(head.payload_bytes, {});
        return {true, n_begun_++ % 3 == drops ? nullptr : place_.data()};
    }
    bool end_frame(Peer, const FrameHead& head, std::span<const std::byte> header,
                   std::byte* payload) noexcept override {
        frames.push_back({head, Bytes(header.begin(), header.end()), payload == nullptr ? Bytes() : place_});
        return true;
    }
    std::vector<Frame> frames;
    int drops = 3;

  private:
    Bytes place_;
    int n_begun_ = 0;
};

std::vector<Frame> make_frames(std::mt19937_64& random) {
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < 1 + random() % 30; ++i) {
        Frame frame;
        frame.head.kind = random() % 2 == 0 ? FrameKind::message : FrameKind::put;
        if (frame.head.kind == FrameKind::put) frame.head.tag = random();
        if (frame.head.kind == FrameKind::message) frame.head.header_bytes = static_cast<std::uint8_t>(random() % 65);
        frame.head.payload_bytes = random() % 3 == 0 ? random() % 100'000 : random() % 200;
        frame.header = pattern(random(), frame.head.header_bytes);
        frame.payload = pattern(random(), frame.head.payload_bytes);
        frames.push_back(std::move(frame));
    }
    return frames;
}

Bytes stream_of(const std::vector<Frame>& frames) {
    Bytes stream;
    for (const Frame& frame : frames) {
        const auto head = std::as_bytes(std::span(&frame.head, 1));
        stream.insert(stream.end(), head.begin(), head.end());
        stream.insert(stream.end(), frame.header.begin(), frame.header.end());
        stream.insert(stream.end(), frame.payload.begin(), frame.payload.end());
    }
    return stream;
}

/// Copies `bytes` into the pieces of `room`, as readv() does.
std::size_t scatter(std::span<const std::byte> bytes, std::span<const iovec> room) {
    std::size_t n_done = 0;
    for (const iovec& piece : room) {
        const std::size_t n_now = std::min(piece.iov_len, bytes.size() - n_done);
        if (n_now > 0) std::memcpy(piece.iov_base, bytes.data() + n_done, n_now);
        n_done += n_now;
    }
    return n_done;
}

TEST(TcpFrames, ComeOutAsTheyWentInHoweverTheyAreCut) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed, bool small_pieces) {
        std::mt19937_64 random(seed);
        std::vector<Frame> frames = make_frames(random);
        const Bytes stream = stream_of(frames);
        Sink sink;
        sink.drops = static_cast<int>(random() % 4);
        FrameReader reader(sink, 100'000);
        reader.reset(0);
        for (std::size_t at = 0; at < stream.size();) {
            const std::size_t n_wanted = 1 + random() % (small_pieces ? 100 : 200'000);
            const auto rest = std::span(stream).subspan(at, std::min(n_wanted, stream.size() - at));
            const auto room = reader.room();
            const std::size_t n_bytes = scatter(rest, room);
            RC_ASSERT(n_bytes > 0U);
            RC_ASSERT(reader.take(n_bytes));
            at += n_bytes;
        }
        RC_ASSERT(sink.frames.size() == frames.size());
        for (std::size_t i = 0; i < frames.size(); ++i)
            if (static_cast<int>(i % 3) == sink.drops) frames[i].payload.clear();
        RC_ASSERT(sink.frames == frames);
    }));
}

struct Piece {
    DatagramHead head;
    Bytes bytes;  ///< the datagram
};

std::vector<Piece> cut(std::uint64_t number, const Bytes& header, const Bytes& payload, std::size_t piece_bytes) {
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < n_pieces(payload.size(), piece_bytes); ++i) {
        Piece piece;
        piece.head.kind = DatagramKind::data;
        piece.head.message = number;
        piece.head.payload_bytes = static_cast<std::uint32_t>(payload.size());
        piece.head.piece = static_cast<std::uint32_t>(i);
        piece.head.piece_bytes = static_cast<std::uint32_t>(piece_bytes);
        piece.head.header_bytes = static_cast<std::uint8_t>(header.size());
        const auto head = std::as_bytes(std::span(&piece.head, 1));
        piece.bytes.assign(head.begin(), head.end());
        piece.bytes.insert(piece.bytes.end(), header.begin(), header.end());
        const auto part =
            std::span(payload).subspan(i * piece_bytes).first(std::min(piece_bytes, payload.size() - i * piece_bytes));
        piece.bytes.insert(piece.bytes.end(), part.begin(), part.end());
        pieces.push_back(std::move(piece));
    }
    return pieces;
}

/// Loses, doubles and mixes within a few positions.
void harm(std::vector<Piece>& pieces, std::mt19937_64& random) {
    const std::uint64_t loss = random() % 20, doubles = random() % 20, reach = random() % 40;
    std::vector<std::pair<std::uint64_t, Piece>> kept;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (random() % 100 < loss) continue;
        const std::size_t n_copies = random() % 100 < doubles ? 2 : 1;
        for (std::size_t copy = 0; copy < n_copies; ++copy) kept.emplace_back(i + random() % (reach + 1), pieces[i]);
    }
    std::ranges::stable_sort(kept, {}, [](const auto& one) { return one.first; });
    pieces.clear();
    for (auto& [position, piece] : kept) pieces.push_back(std::move(piece));
}

TEST(UdpReassembly, WhatComesIsWholeAndOnceAndTheRestIsCounted) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed) {
        std::mt19937_64 random(seed);
        Recorder listener;
        listener.on_peer(3, PeerState::up);
        CounterPage page;
        const auto counters = page.add_block<FabricCounter>("fabric");
        const std::size_t n_messages = 1 + random() % 150;
        std::vector<Bytes> payloads;
        std::vector<Piece> pieces;
        for (std::uint64_t i = 0; i < n_messages; ++i) {
            payloads.push_back(pattern(random(), random() % 4 == 0 ? 0 : random() % 5'000));
            const Bytes header(reinterpret_cast<const std::byte*>(&i), reinterpret_cast<const std::byte*>(&i + 1));
            for (Piece& piece : cut(i, header, payloads.back(), least_piece_bytes + random() % 1000))
                pieces.push_back(std::move(piece));
        }
        harm(pieces, random);
        const bool picky = random() % 2 == 0;
        listener.choose_place = [&](Peer, std::span<const std::byte>, std::size_t n_bytes) -> std::span<std::byte> {
            if (picky && random() % 4 == 0) return {};
            return listener.places.emplace_back(n_bytes);
        };
        UdpReassembly reassembly(3, 5'000, listener, counters);
        for (const Piece& one : pieces) {
            DatagramHead head;
            PieceView view;
            RC_ASSERT(parse_head(one.bytes, head));
            RC_ASSERT(parse_piece(one.bytes, head, 5'000, view));
            RC_ASSERT(reassembly.take(view, 0));
        }
        RC_ASSERT(reassembly.expect_below(n_messages, 0));
        reassembly.give_up_older_than(1, 0);
        reassembly.give_up_older_than(1, 1);
        std::set<std::uint64_t> seen;
        for (const auto& message : listener.messages) {
            std::uint64_t number = 0;
            std::memcpy(&number, message.header.data(), sizeof number);
            RC_ASSERT(seen.insert(number).second);
            RC_ASSERT(message.payload == payloads.at(number));
        }
        RC_ASSERT(counters[FabricCounter::messages_received] + counters[FabricCounter::messages_discarded] +
                      counters[FabricCounter::messages_lost] ==
                  n_messages);
    }));
}

/// A second message may have the number of the first (a damaged head or a lie): the first datagram decides, and nothing
/// of the second one is handed on.
TEST(UdpReassembly, OfTwoMessagesWithOneNumberTheFirstIsHandedOnAsItWas) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed) {
        std::mt19937_64 random(seed);
        Recorder listener;
        listener.on_peer(3, PeerState::up);
        CounterPage page;
        const auto counters = page.add_block<FabricCounter>("fabric");
        UdpReassembly reassembly(3, 5'000, listener, counters);
        const std::size_t piece_bytes = least_piece_bytes + random() % 1'000;
        const std::size_t n_bytes = piece_bytes + 1 + random() % 2'500;
        const Bytes header = pattern(1, 1 + random() % 64), payload = pattern(2, n_bytes);
        Bytes other_header = header;
        std::size_t other_bytes = n_bytes, other_piece_bytes = piece_bytes;
        switch (random() % 4) {
            case 0:
                other_header[random() % header.size()] ^= std::byte{1};
                break;
            case 1:
                other_header.pop_back();
                break;
            case 2:
                other_bytes += 1 + random() % 1'000;
                break;
            default:
                other_piece_bytes += 1 + random() % 400;
        }
        std::vector<Piece> pieces = cut(0, header, payload, piece_bytes);
        std::vector<Piece> others = cut(0, other_header, pattern(3, other_bytes), other_piece_bytes);
        const auto take = [&](const Piece& piece) {
            DatagramHead head;
            PieceView view;
            RC_ASSERT(parse_head(piece.bytes, head));
            RC_ASSERT(parse_piece(piece.bytes, head, 5'000, view));
            return reassembly.take(view, 0);
        };
        std::ranges::shuffle(pieces, random);
        std::ranges::shuffle(others, random);
        for (const Piece& piece : pieces) {
            RC_ASSERT(take(piece));
            if (&piece == &pieces.back()) break;
            for (const Piece& other : others) RC_ASSERT(!take(other));
        }
        RC_ASSERT(listener.messages.size() == 1U);
        RC_ASSERT(listener.messages[0].header == header);
        RC_ASSERT(listener.messages[0].payload == payload);
        RC_ASSERT(counters[FabricCounter::datagrams_duplicate] == 0U);
    }));
}

}  // namespace
}  // namespace anello::fabric
