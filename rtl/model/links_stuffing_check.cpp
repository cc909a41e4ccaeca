// SPDX-License-Identifier: Apache-2.0
// Checks the guarantees of word_stuffing over many resets, flipped bits and full load. It prints one line of figures
// per check; exit status 0: all guarantees held.
//
//     links_stuffing_check resets N SEED | flips CYCLES SEED PER_MILLION | single N SEED | rate CYCLES SEED

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "Vword_stuffing_loop.h"

namespace links {
namespace {

using Random = std::mt19937_64;
enum Count { packets, bad_words, bad_packets, bad_messages, missing, no_room, skewed, messages };

constexpr std::uint32_t magic = 0x6ba51e70;
constexpr int most_bytes = 4096;

int n_wrong = 0;
void expect(bool holds, const char* what) {
    if (holds) return;
    if (n_wrong < 10) std::printf("WRONG %s\n", what);
    ++n_wrong;
}
int below(Random& random, int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
}

struct Packet {
    std::vector<std::uint8_t> bytes;
    std::uint8_t stream = 0;
    bool operator==(const Packet&) const = default;
};

/// A packet of random bytes, in which some lanes of some words, or all, look like the line's own magic.
Packet packet_of(Random& random, int n_bytes, int magic_percent) {
    Packet packet{std::vector<std::uint8_t>(static_cast<std::size_t>(n_bytes)), static_cast<std::uint8_t>(random())};
    for (auto& byte : packet.bytes) byte = static_cast<std::uint8_t>(random());
    for (std::size_t at = 0; at + 16 <= packet.bytes.size(); at += 16) {
        if (below(random, 100) >= magic_percent) continue;
        const std::uint64_t which = random();
        for (std::size_t lane = 0; lane < 4; ++lane) {
            for (std::size_t i = 0; i < 4 && (which >> lane & 1); ++i)
                packet.bytes[at + 4 * lane + i] = static_cast<std::uint8_t>((magic + lane) >> (8 * i));
        }
    }
    return packet;
}

/// The model, the four lanes between its ends, and a ledger of packets and messages.
class Loop {
  public:
    explicit Loop(Random& random) : random_(random) {}

    void reset(const std::array<int, 4>& skews, int n_cycles) {
        for (int lane = 0; lane < 4; ++lane) {
            lanes_[lane].clear();
            for (int i = 0; i < skews[lane]; ++i) lanes_[lane].push_back(static_cast<std::uint32_t>(random_()));
        }
        io().tx_rst = io().rx_rst = 1;
        for (int i = 0; i < n_cycles; ++i) edge({});
        io().tx_rst = io().rx_rst = 0;
        waiting.clear(), sent.clear(), sent_messages.clear(), came_ = {}, at_ = 0;
    }
    Vword_stuffing_loop& io() { return *model_; }
    std::uint32_t count(Count which) { return model_->counts[which]; }
    std::uint64_t errors() {
        return std::uint64_t{count(bad_words)} + count(bad_packets) + count(bad_messages) + count(missing) +
               count(skewed);
    }

    /// Runs one cycle: offers the oldest waiting packet (unless pause), takes an offered word (unless stall), and flips
    /// bits on the line.
    void cycle(bool pause, bool stall, const std::array<std::uint32_t, 4>& flips = {}) {
        if (!offered_ && !waiting.empty() && !pause) offered_ = true;
        io().s_tvalid = offered_;
        if (offered_) offer();
        io().m_tready = !stall;
        settle();
        if (offered_ && io().s_tready) taken();
        if (io().m_tvalid && io().m_tready) came();
        if (io().tx_message_valid && io().tx_message_ready) {
            sent_messages.push_back(io().tx_message);
            edge(flips);
            io().tx_message_valid = 0;
        } else {
            edge(flips);
        }
        came_message();
    }
    void say(std::uint64_t message) {
        if (io().tx_message_valid) return;
        io().tx_message = message;
        io().tx_message_valid = 1;
    }

    std::deque<Packet> waiting, sent;
    std::deque<std::uint64_t> sent_messages;
    std::uint64_t n_sent = 0, n_received = 0, n_words = 0, n_said = 0, now = 0, footer_at = 0, first_out_at = 0;

  private:
    void offer() {
        const Packet& packet = waiting.front();
        const std::size_t left = packet.bytes.size() - at_;
        for (std::size_t i = 0; i < 4; ++i) {
            std::uint32_t part = 0;
            for (std::size_t b = 0; b < 4; ++b)
                part |= std::uint32_t{4 * i + b < left ? packet.bytes[at_ + 4 * i + b] : std::uint8_t{0xEE}} << (8 * b);
            io().s_tdata[i] = part;
        }
        io().s_tkeep = static_cast<std::uint16_t>(left >= 16 ? 0xFFFF : (1u << left) - 1);
        io().s_tlast = left <= 16;
        io().s_stream = packet.stream;
    }
    void taken() {
        offered_ = false;
        ++n_words;
        at_ += 16;
        if (at_ < waiting.front().bytes.size()) return;
        sent.push_back(std::move(waiting.front()));
        waiting.pop_front();
        at_ = 0;
        ++n_sent;
    }
    // Each received packet must be one of those sent, in their order, and complete.
    void came() {
        if (came_.bytes.empty()) first_out_at = now;
        for (int i = 0; i < 8; ++i)
            if (io().m_tkeep >> i & 1) came_.bytes.push_back(static_cast<std::uint8_t>(io().m_tdata >> (8 * i)));
        came_.stream = io().m_stream;
        if (!io().m_tlast) return;
        while (!sent.empty() && !(sent.front() == came_)) sent.pop_front();
        expect(!sent.empty(), "a packet that was not sent so, or not in this order");
        if (!sent.empty()) sent.pop_front();
        ++n_received;
        came_ = {};
    }
    void came_message() {
        if (!io().rx_message_valid) return;
        while (!sent_messages.empty() && sent_messages.front() != io().rx_message) sent_messages.pop_front();
        expect(!sent_messages.empty(), "a message that was not sent so");
        if (!sent_messages.empty()) sent_messages.pop_front();
        ++n_said;
    }
    void settle() {
        io().clk = 0;
        io().eval();
    }
    void edge(const std::array<std::uint32_t, 4>& flips) {
        if ((io().tx_lanes[0] >> 24) == 0x08 && (io().tx_lanes[3] >> 24) == 0x08) footer_at = now;
        std::array<std::uint32_t, 4> arriving{};
        for (int lane = 0; lane < 4; ++lane) {
            lanes_[lane].push_back(io().tx_lanes[lane] ^ flips[lane]);
            arriving[lane] = lanes_[lane].front();
            lanes_[lane].pop_front();
        }
        io().clk = 1;
        io().eval();
        for (int lane = 0; lane < 4; ++lane) io().rx_lanes[lane] = arriving[lane];
        settle();
        ++now;
    }

    Random& random_;
    std::unique_ptr<Vword_stuffing_loop> model_ = std::make_unique<Vword_stuffing_loop>();
    std::array<std::deque<std::uint32_t>, 4> lanes_;
    bool offered_ = false;
    std::size_t at_ = 0;
    Packet came_;
};

std::array<int, 4> skews_of(Random& random) {
    const int base = below(random, 10);
    std::array<int, 4> skews{};
    for (int& skew : skews) skew = base + below(random, 9);
    return skews;
}

void align(Loop& loop) {
    for (int i = 0; i < 4 * LINK_ALIGN_PERIOD && !loop.io().is_aligned; ++i) loop.cycle(true, false);
    for (int i = 0; i < 30; ++i) loop.cycle(true, false);
    expect(loop.io().is_aligned, "the lanes were not aligned");
}

void resets(int n, Random& random) {
    Loop loop(random);
    std::set<std::int64_t> latencies;
    std::set<int> spans;
    for (int i = 0; i < n; ++i) {
        const auto skews = skews_of(random);
        const auto [least, most] = std::minmax_element(skews.begin(), skews.end());
        loop.reset(skews, 3 + below(random, 50));
        align(loop);
        const std::uint64_t before = loop.n_received;
        loop.waiting.push_back(packet_of(random, 1 + below(random, 200), 20));
        for (int cycle = 0; cycle < 200 && loop.n_received == before; ++cycle) loop.cycle(false, false);
        expect(loop.n_received == before + 1, "the packet after a reset did not come");
        expect(loop.errors() == 0, "errors on clean lanes");
        latencies.insert(static_cast<std::int64_t>(loop.first_out_at - loop.footer_at) - *least);
        spans.insert(*most - *least);
    }
    std::printf("resets %d latency_least %lld latency_most %lld skew_most %d\n", n,
                static_cast<long long>(*latencies.begin()), static_cast<long long>(*latencies.rbegin()),
                *spans.rbegin());
    expect(latencies.size() == 1, "the latency after the first lane differs from reset to reset");
    expect(spans.contains(8), "the largest skew was not tried");
    // A skew of one more than the largest must be refused and not guessed.
    loop.reset({0, 9, 3, 4}, 20);
    for (int cycle = 0; cycle < 6 * LINK_ALIGN_PERIOD; ++cycle) loop.cycle(true, false);
    expect(!loop.io().is_aligned, "lanes 9 words apart were taken for aligned");
}

struct Load {
    int pause_percent, stall_percent, magic_percent, bytes;
};

void run(Loop& loop, Random& random, const Load& load, const std::array<std::uint32_t, 4>& flips = {}) {
    if (loop.waiting.size() < 2)
        loop.waiting.push_back(packet_of(random,
                                         load.bytes > 0 ? load.bytes : 1 + below(random, 1 + below(random, most_bytes)),
                                         load.magic_percent));
    if (random() % 8 == 0 && load.pause_percent > 0) loop.say(random());
    loop.cycle(below(random, 100) < load.pause_percent, below(random, 100) < load.stall_percent, flips);
}

void flips(std::uint64_t n_cycles, Random& random, int per_million) {
    Loop loop(random);
    loop.reset({3, 0, 8, 5}, 10);
    align(loop);
    std::uint64_t n_flips = 0;
    for (std::uint64_t cycle = 0; cycle < n_cycles; ++cycle) {
        std::array<std::uint32_t, 4> flipped{};
        if (below(random, 1'000'000) < per_million) {
            auto& lane = flipped[static_cast<std::size_t>(below(random, 4))];
            lane = random() % 2 ? 1u << below(random, 32) : static_cast<std::uint32_t>(random() & random());
            n_flips += static_cast<unsigned>(__builtin_popcount(lane));
        }
        run(loop, random, {60, 10, 5, 0}, flipped);
    }
    std::printf(
        "flips %llu packets_sent %llu received %llu messages %llu bad_words %u bad_packets %u bad_messages %u missing "
        "%u "
        "no_room %u skewed %u\n",
        static_cast<unsigned long long>(n_flips), static_cast<unsigned long long>(loop.n_sent),
        static_cast<unsigned long long>(loop.n_received), static_cast<unsigned long long>(loop.n_said),
        loop.count(bad_words), loop.count(bad_packets), loop.count(bad_messages), loop.count(missing),
        loop.count(no_room), loop.count(skewed));
    expect(loop.n_received < loop.n_sent && loop.n_received > loop.n_sent / 10, "too much or too little was hit");
    expect(loop.count(bad_packets) > 0 && loop.count(bad_words) > 0 && loop.count(bad_messages) > 0,
           "not all kinds were hit");
}

void single(int n, Random& random) {
    Loop loop(random);
    loop.reset({8, 1, 0, 5}, 10);
    align(loop);
    int n_counted = 0;
    for (int i = 0; i < n; ++i) {
        for (int cycle = below(random, 40); cycle > 0; --cycle) run(loop, random, {30, 0, 5, 100});
        const std::uint64_t before = loop.errors();
        std::array<std::uint32_t, 4> flipped{};
        flipped[static_cast<std::size_t>(below(random, 4))] = 1u << below(random, 32);
        run(loop, random, {30, 0, 5, 100}, flipped);
        for (int cycle = 0; cycle < 200; ++cycle) run(loop, random, {30, 0, 5, 100});
        n_counted += loop.errors() > before;
        expect(loop.io().is_aligned, "one flipped bit lost the alignment");
    }
    std::printf("single %d counted %d packets_sent %llu received %llu\n", n, n_counted,
                static_cast<unsigned long long>(loop.n_sent), static_cast<unsigned long long>(loop.n_received));
    expect(n_counted == n, "a flipped bit was not counted");
    expect(loop.n_sent - loop.n_received <= static_cast<std::uint64_t>(n) + 3, "one bit cost more than one packet");
}

// Packets of 4096 bytes back to back: apart from header, footer and ALIGN words each cycle carries payload.
void rate(std::uint64_t n_cycles, Random& random) {
    Loop loop(random);
    loop.reset({0, 2, 8, 1}, 10);
    align(loop);
    for (int i = 0; i < 2000; ++i) run(loop, random, {0, 0, 0, most_bytes});
    const std::uint64_t words_before = loop.n_words;
    for (std::uint64_t i = 0; i < n_cycles; ++i) run(loop, random, {0, 0, 0, most_bytes});
    const double share = static_cast<double>(loop.n_words - words_before) / static_cast<double>(n_cycles);
    std::printf("rate cycles %llu payload_share %.4f packets %u no_room %u errors %llu\n",
                static_cast<unsigned long long>(n_cycles), share, loop.count(packets), loop.count(no_room),
                static_cast<unsigned long long>(loop.errors()));
    const double most = 256.0 / 260.0 * (LINK_ALIGN_PERIOD - 2.0) / LINK_ALIGN_PERIOD;
    expect(share > most - 0.002, "bubbles among the words");
    expect(loop.errors() == 0 && loop.n_sent - loop.count(packets) <= 2, "errors on clean lanes");
    expect(loop.n_received + loop.count(no_room) + 4 >= loop.count(packets), "packets without an account");
}

}  // namespace
}  // namespace links

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const std::string what = argv[1];
    const long n = std::strtol(argv[2], nullptr, 10);
    links::Random random(std::strtoull(argv[3], nullptr, 10));
    if (what == "resets") {
        links::resets(static_cast<int>(n), random);
    } else if (what == "flips" && argc > 4) {
        links::flips(static_cast<std::uint64_t>(n), random, std::atoi(argv[4]));
    } else if (what == "single") {
        links::single(static_cast<int>(n), random);
    } else if (what == "rate") {
        links::rate(static_cast<std::uint64_t>(n), random);
    } else {
        return 2;
    }
    return links::n_wrong ? 1 : 0;
}
