// SPDX-License-Identifier: Apache-2.0
// Parse and decode every hit, in bytes of UDP payload per second. 64 different packets in turn, so that branches are
// not learnt by heart; they stay in the cache, as a datagram just received does.
#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <vector>

#include "km3net/wire/clb.hpp"
#include "rich/wire/mep.hpp"
#include "rich/wire/mtp.hpp"
#include "rich/wire/tel62.hpp"
#include "wire/crc32c.hpp"
#include "wire/mgp.hpp"

namespace {

using namespace anello::wire;
using Bytes = std::vector<std::byte>;
using Packets = std::array<Bytes, 64>;

std::mt19937 random_bits(20261120);

std::size_t some_number(double mean) {
    return std::poisson_distribution<std::size_t>(mean)(random_bits);
}

template <typename Build>
Packets packets_of(Build build) {
    Packets packets;
    for (Bytes& packet : packets) packet = build();
    return packets;
}

/// Runs `decode_one` over the packets and reports bytes and hits.
template <typename Decode>
void measure(benchmark::State& state, const Packets& packets, Decode decode_one) {
    std::size_t n_bytes = 0, n_hits = 0, index = 0;
    for (auto _ : state) {
        const Bytes& packet = packets[index++ % packets.size()];
        n_hits += decode_one(packet);
        n_bytes += packet.size();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(n_bytes));
    state.counters["hits"] = benchmark::Counter(static_cast<double>(n_hits), benchmark::Counter::kIsRate);
}

/// A packet of as many events as 1472 bytes hold.
Bytes mgp_packet(std::uint8_t flags, double mean_hits) {
    Bytes datagram(1472);
    std::size_t n_bytes = 0;
    mgp::Header header{.flags = flags};
    for (std::uint32_t tick = 1000;; tick += 4, ++header.n_events) {
        std::vector<mgp::Hit> hits(some_number(mean_hits));
        for (mgp::Hit& hit : hits) hit.channel = static_cast<std::uint16_t>(random_bits() % 488);
        const auto room = std::span(datagram).subspan(mgp::header_bytes + n_bytes);
        const std::size_t length = mgp::write_event(room, tick, 7, hits, (flags & mgp::hits_with_time) != 0);
        if (length == 0) break;
        n_bytes += length;
    }
    datagram.resize(mgp::seal(datagram, header, n_bytes));
    return datagram;
}

enum class Room { exact, slack };

template <Room room>
void unpack(const mgp::EventReader& reader, const mgp::EventView& event, bool with_time) {
    static std::array<std::uint16_t, 255 + mgp::unpack_slack> channel;
    static std::array<std::int16_t, 255 + mgp::unpack_slack> time;
    if constexpr (room == Room::slack) {
        with_time ? reader.unpack_timed_hits(event, channel.data(), time.data())
                  : reader.unpack_channels(event, channel.data());
    } else {
        with_time ? mgp::unpack_timed_hits(event.hits, event.n_hits, channel.data(), time.data())
                  : mgp::unpack_channels(event.hits, event.n_hits, channel.data());
    }
    benchmark::DoNotOptimize(channel.data());
    benchmark::ClobberMemory();
}

template <Room room>
std::size_t decode_mgp(const Bytes& datagram) {
    mgp::PacketView packet;
    if (mgp::parse(datagram, packet) != Verdict::ok) std::abort();
    mgp::EventReader reader(packet);
    mgp::EventView event{};
    std::size_t n_hits = 0;
    for (; reader.next(event); n_hits += event.n_hits) unpack<room>(reader, event, packet.header.has_hit_times());
    if (reader.verdict() != Verdict::ok) std::abort();
    return n_hits;
}

void mgp_decode(benchmark::State& state, int flags, double mean_hits, std::size_t (*decode)(const Bytes&)) {
    measure(state, packets_of([&] { return mgp_packet(static_cast<std::uint8_t>(flags), mean_hits); }), decode);
}
constexpr int timed = mgp::hits_with_time, checksum = mgp::with_checksum;
BENCHMARK_CAPTURE(mgp_decode, nine_bit_5_hits, 0, 5.0, decode_mgp<Room::slack>);
BENCHMARK_CAPTURE(mgp_decode, nine_bit_5_hits_checksum, checksum, 5.0, decode_mgp<Room::slack>);
BENCHMARK_CAPTURE(mgp_decode, nine_bit_5_hits_exact, 0, 5.0, decode_mgp<Room::exact>);
BENCHMARK_CAPTURE(mgp_decode, nine_bit_20_hits, 0, 20.0, decode_mgp<Room::slack>);
BENCHMARK_CAPTURE(mgp_decode, sixteen_bit_5_hits, timed, 5.0, decode_mgp<Room::slack>);
BENCHMARK_CAPTURE(mgp_decode, sixteen_bit_5_hits_checksum, timed | checksum, 5.0, decode_mgp<Room::slack>);
BENCHMARK_CAPTURE(mgp_decode, sixteen_bit_5_hits_exact, timed, 5.0, decode_mgp<Room::exact>);

/// Hits as one of four boards sees them in real events: 42 in the detector, from tracks of 17 that come together in
/// time, one of them the event's own, the others anywhere in the readout window of 17 ticks. Both edges of each.
std::vector<tel62::Hit> tel62_hits(std::uint32_t event_ticks) {
    std::vector<tel62::Hit> hits;
    std::uint64_t track_fine = (std::uint64_t{event_ticks} << 8) + random_bits() % 256;
    for (std::size_t n_tracks = 1 + some_number(1.45); n_tracks > 0; --n_tracks) {
        for (std::size_t n = some_number(17. / 4); n > 0; --n) {
            const auto channel = static_cast<std::uint16_t>(512 + random_bits() % 488);
            const std::uint64_t time_fine = track_fine + random_bits() % 7;
            hits.push_back({time_fine, channel, tel62::Edge::leading});
            hits.push_back({time_fine + 110 + random_bits() % 80, channel, tel62::Edge::trailing});
        }
        track_fine = (std::uint64_t{event_ticks - 8} << 8) + random_bits() % (17 * 256);
    }
    return hits;
}

Bytes mep_packet() {
    Bytes datagram(1472);
    mep::PacketWriter writer(datagram, mep::rich_source_id, 1, random_bits() & mep::event_number_mask);
    for (std::uint32_t tick = 100000;; tick += 40) {
        auto hits = tel62_hits(tick);
        const std::size_t n_bytes = tel62::encode(writer.room(), {.board = 1}, hits);
        if (n_bytes == 0 || !writer.close(n_bytes, tick)) break;
    }
    datagram.resize(writer.finish());
    return datagram;
}

std::size_t decode_mep(const Bytes& datagram) {
    static const KnownSources known(mep::rich_source_id, 5);
    static std::array<tel62::Hit, 256> hits;
    mep::PacketView packet;
    if (mep::parse(datagram, known, packet) != Verdict::ok) std::abort();
    mep::FragmentReader reader(packet);
    std::size_t n_hits = 0;
    for (mep::FragmentView fragment; reader.next(fragment);) {
        tel62::Decoded decoded;
        const Verdict verdict = tel62::decode(fragment.payload, packet.header.sub_source_id, fragment.timestamp_ticks,
                                              tel62::Edges::leading_only, hits, decoded);
        if (verdict != Verdict::ok) std::abort();
        n_hits += decoded.n_hits;
        benchmark::DoNotOptimize(hits.data());
        benchmark::ClobberMemory();
    }
    return n_hits;
}

/// The farm's checks and a walk over the fragments, their payload left as it is.
std::size_t walk_mep(const Bytes& datagram) {
    static const KnownSources known(mep::rich_source_id, 5);
    mep::PacketView packet;
    if (mep::parse(datagram, known, packet) != Verdict::ok) std::abort();
    mep::FragmentReader reader(packet);
    std::size_t n_fragments = 0;
    for (mep::FragmentView fragment; reader.next(fragment); ++n_fragments) benchmark::DoNotOptimize(fragment);
    return n_fragments;
}

void mep_parse(benchmark::State& state) {
    measure(state, packets_of(mep_packet), walk_mep);
}
BENCHMARK(mep_parse);

void mep_tel62_decode(benchmark::State& state) {
    measure(state, packets_of(mep_packet), decode_mep);
}
BENCHMARK(mep_tel62_decode);

/// 10 MHz of decisions are 64 primitives to a frame.
Bytes mtp_packet() {
    Bytes datagram(mtp::full_packet_bytes);
    mtp::PacketWriter writer(datagram, mep::rich_source_id, 0);
    writer.begin(77);
    for (std::uint32_t i = 0; i < 64; ++i)
        writer.add({static_cast<std::uint16_t>(0x100 + random_bits() % 1000), static_cast<std::uint8_t>(random_bits()),
                    77 * mtp::frame_ticks + 4 * i});
    datagram.resize(writer.finish());
    return datagram;
}

std::size_t decode_mtp(const Bytes& datagram) {
    static const KnownSources known(mep::rich_source_id, 1);
    mtp::PacketView packet;
    if (mtp::parse(datagram, known, packet) != Verdict::ok) std::abort();
    mtp::PrimitiveReader reader(packet);
    std::size_t n_primitives = 0;
    for (mtp::Primitive primitive; reader.next(primitive); ++n_primitives) benchmark::DoNotOptimize(primitive);
    return n_primitives;
}

void mtp_decode(benchmark::State& state) {
    measure(state, packets_of(mtp_packet), decode_mtp);
}
BENCHMARK(mtp_decode);

Bytes clb_packet() {
    std::vector<clb::Hit> hits(229);
    for (clb::Hit& hit : hits)
        hit = {static_cast<std::uint8_t>(random_bits() % 31), static_cast<std::uint32_t>(random_bits() % 100'000'000),
               static_cast<std::uint8_t>(random_bits())};
    Bytes datagram(clb::header_bytes + hits.size() * clb::hit_bytes);
    clb::write(datagram, {}, hits);
    return datagram;
}

std::size_t decode_clb(const Bytes& datagram) {
    static std::array<clb::Hit, 256> hits;
    clb::PacketView packet;
    if (clb::parse(datagram, {}, packet) != Verdict::ok) std::abort();
    clb::unpack(packet, hits.data());
    benchmark::DoNotOptimize(hits.data());
    benchmark::ClobberMemory();
    return packet.n_hits();
}

void clb_decode(benchmark::State& state) {
    measure(state, packets_of(clb_packet), decode_clb);
}
BENCHMARK(clb_decode);

void checksum_1472_bytes(benchmark::State& state) {
    const Bytes bytes(1472, std::byte{0x5a});
    for (auto _ : state) benchmark::DoNotOptimize(crc32c(bytes));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes.size()));
}
BENCHMARK(checksum_1472_bytes);

}  // namespace

BENCHMARK_MAIN();
