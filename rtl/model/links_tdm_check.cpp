// SPDX-License-Identifier: Apache-2.0
// Checks the guarantees of link_tdm over many resets, flipped bits and full load. It prints one line of figures per
// check, with their names; exit status 0: all guarantees held.
//
//     links_tdm_check resets N SEED | flips CYCLES SEED PER_MILLION | single N SEED | rate FRAMES SEED

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "links_tdm_loop.hpp"

namespace links {
namespace {

using Random = std::mt19937_64;

int n_wrong = 0;
void expect(bool holds, const char* what) {
    if (holds) return;
    if (n_wrong < 10) std::printf("WRONG %s\n", what);
    ++n_wrong;
}

int below(Random& random, int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
}

/// Content of word n of a channel: a reader sees from the word alone which one it is, and whether it is intact.
std::uint64_t word_of(int channel, std::uint32_t n) {
    std::uint64_t mixed = (std::uint64_t{n} << 4 | static_cast<unsigned>(channel)) * 0x9E3779B97F4A7C15;
    mixed ^= mixed >> 29;
    return (mixed & 0xFFFFFFFF00000000) | std::uint64_t{n};
}

void start(Loop& loop, int delay_bits, Random& random, int n_cycles) {
    loop.line(delay_bits, random);
    loop.io().tx_rst = loop.io().rx_rst = 1;
    for (int i = 0; i < n_cycles; ++i) loop.step();
    loop.io().tx_rst = loop.io().rx_rst = 0;
}

// Cycles from the sender's frame_start to the receiver's first word of slot 1, over resets with any phase and skew.
struct Seen {
    std::set<std::int64_t> latencies, clocks;
    std::set<int> phases, delays;
};

void one_reset(Loop& loop, Random& random, Seen& seen) {
    std::uint64_t frame_began = 0;
    int n_measured = 0, n_after_lock = 0;
    for (int cycle = 0; cycle < 9 * frame_cycles && n_after_lock < 2 * frame_cycles; ++cycle) {
        loop.io().sync = loop.now() % frame_cycles == frame_cycles - 1;
        loop.io().frame_reference = loop.now() % frame_cycles == 30;
        loop.settle();
        if (loop.io().frame_start) frame_began = loop.now();
        Word word{frame_began};
        for (int channel = 0; channel < n_channels; ++channel) loop.offer(channel, &word);
        loop.settle();
        if (loop.io().slot_valid && loop.io().slot_first && loop.io().slot_channel == 0) {
            seen.latencies.insert(static_cast<std::int64_t>(loop.now() - loop.io().slot_data));
            ++n_measured;
        }
        if (loop.io().clock_is_locked) {
            seen.clocks.insert(static_cast<std::int64_t>(loop.io().counter - loop.now()));
            ++n_after_lock;
        }
        loop.step();
    }
    seen.phases.insert(loop.io().phase);
    seen.delays.insert(loop.io().delay);
    expect(n_measured >= 2, "a link did not come up, or no slot came");
    expect(n_after_lock >= 2 * frame_cycles, "the clock counter did not lock");
    expect(loop.count(slots_dropped) + loop.count(out_of_step) + loop.count(clock_errors) == 0,
           "errors on a clean line");
}

void resets(int n, Random& random, bool use_reference) {
    std::array<Loop, 4> loops;
    Seen seen;
    for (int reset = 0; reset < n; ++reset) {
        // Without a reference a line may differ by less than a word from reset to reset; with one by up to 14 words.
        const int origin = below(random, 20);
        const int first_cycles = 3 + below(random, 200);
        for (Loop& loop : loops) {
            loop.io().slip_origin = static_cast<std::uint8_t>(origin);
            loop.io().use_reference = use_reference;
            loop.io().clock_offset = use_reference ? 40 : 27;  // the sums of the link's own cycles
            start(loop, use_reference ? below(random, 281) : origin + below(random, 20), random, first_cycles);
            one_reset(loop, random, seen);
        }
    }
    std::printf(
        "resets %d links %zu reference %d latency_least %lld latency_most %lld clock_least %lld clock_most %lld "
        "phases %zu delays %zu\n",
        n, loops.size(), use_reference, static_cast<long long>(*seen.latencies.begin()),
        static_cast<long long>(*seen.latencies.rbegin()), static_cast<long long>(*seen.clocks.begin()),
        static_cast<long long>(*seen.clocks.rbegin()), seen.phases.size(), seen.delays.size());
    expect(seen.latencies.size() == 1 && seen.clocks.size() == 1, "the latency differs from reset to reset");
    expect(*seen.clocks.begin() == 0, "the clock counter is not the sender's");
    expect(seen.phases.size() == 20, "not every bit phase was tried");
    expect(seen.delays.size() >= (use_reference ? 14u : 2u), "not every delay was tried");
}

// Sends packets of random length on all channels, and counts their outcomes.
class Traffic {
  public:
    /// share: how often a channel without a packet begins one; whole_slots: packets fill their slots.
    Traffic(Random& random, double share, bool whole_slots = false)
        : random_(random), share_(share), whole_slots_(whole_slots) {
        for (int channel = 0; channel < n_channels; ++channel) sent_[channel].emplace_back();
    }

    void before_edge(Loop& loop, bool stalls) {
        loop.io().m_tready = stalls ? static_cast<std::uint8_t>(random_()) : 0xFF;
        for (int channel = 0; channel < n_channels; ++channel) {
            if (!offered_[channel]) {
                if (left_[channel] == 0) {
                    if (below(random_, 1000) >= 1000 * share_) {
                        loop.offer(channel, nullptr);
                        continue;
                    }
                    left_[channel] = whole_slots_ ? slot_words * (1 + below(random_, 10)) : 1 + below(random_, 40);
                }
                word_[channel].is_last = left_[channel] == 1;
                word_[channel].n_bytes = static_cast<std::uint8_t>(word_[channel].is_last ? 1 + below(random_, 8) : 8);
                word_[channel].data = word_of(channel, next_[channel]++);
                offered_[channel] = true;
            }
            loop.offer(channel, &word_[channel]);
        }
        loop.settle();
        for (int channel = 0; channel < n_channels; ++channel) {
            if (loop.takes(channel)) sent(channel);
            if ((loop.io().m_tvalid & loop.io().m_tready) >> channel & 1) received(loop, channel);
        }
        if (loop.io().slot_valid) {
            ++n_slot_words;
            const std::uint64_t data = loop.io().slot_data;
            expect(word_of(loop.io().slot_channel, static_cast<std::uint32_t>(data)) == data,
                   "a slot with changed data");
        }
    }
    void stop() { share_ = 0; }

    std::uint64_t n_sent = 0, n_received = 0, n_slot_words = 0, n_words_sent = 0;

  private:
    void sent(int channel) {
        offered_[channel] = false;
        ++n_words_sent;
        sent_[channel].back().push_back(word_[channel]);
        if (--left_[channel] > 0) return;
        ++n_sent;
        sent_[channel].emplace_back();
    }
    // Each received packet must be one of those sent, in their order, and complete.
    void received(Loop& loop, int channel) {
        Word word{loop.out_data(channel), static_cast<std::uint8_t>(loop.out_bytes(channel)),
                  static_cast<bool>(loop.io().m_tlast >> channel & 1)};
        came_[channel].push_back(word);
        if (!word.is_last) return;
        ++n_received;
        auto& queue = sent_[channel];
        while (queue.size() > 1 && !same(queue.front(), came_[channel])) queue.pop_front();
        expect(queue.size() > 1, "a packet that was not sent so, or not in this order");
        if (queue.size() > 1) queue.pop_front();
        came_[channel].clear();
    }
    static bool same(const std::vector<Word>& a, const std::vector<Word>& b) {
        if (a.size() != b.size()) return false;
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (a[i].n_bytes != b[i].n_bytes) return false;
            const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * a[i].n_bytes);
            if ((a[i].data ^ b[i].data) & mask) return false;
        }
        return true;
    }

    Random& random_;
    double share_;
    bool whole_slots_;
    std::array<bool, n_channels> offered_{};
    std::array<int, n_channels> left_{};
    std::array<std::uint32_t, n_channels> next_{};
    std::array<Word, n_channels> word_{};
    std::array<std::deque<std::vector<Word>>, n_channels> sent_;
    std::array<std::vector<Word>, n_channels> came_;
};

void quiet(Loop& loop, Traffic& traffic, int n_cycles) {
    for (int i = 0; i < n_cycles; ++i) {
        traffic.before_edge(loop, false);
        loop.step();
    }
}

std::uint64_t line_errors(Loop& loop) {
    return loop.count(code_errors) + loop.count(disparity_errors) + loop.count(comma_errors);
}

// Flips bits at random, alone or in groups: no changed packet may be delivered, and every lost one must be counted.
void flips(std::uint64_t n_cycles, Random& random, int per_million) {
    Loop loop;
    start(loop, 33, random, 10);
    Traffic traffic(random, 0.6);
    std::uint64_t n_flips = 0;
    quiet(loop, traffic, 8 * frame_cycles);
    for (std::uint64_t cycle = 0; cycle < n_cycles; ++cycle) {
        std::uint32_t flipped = 0;
        if (below(random, 1'000'000) < per_million) {
            flipped =
                random() % 3 ? 1u << below(random, 20) : static_cast<std::uint32_t>(random() & random() & 0xFFFFF);
        }
        n_flips += static_cast<unsigned>(__builtin_popcount(flipped));
        traffic.before_edge(loop, true);
        loop.step(flipped);
    }
    traffic.stop();
    quiet(loop, traffic, 60 * frame_cycles);
    std::printf(
        "flips %llu packets_sent %llu received %llu broken %u no_room %u slots_dropped %u code_errors %u "
        "disparity_errors %u comma_errors %u alignment_lost %u\n",
        static_cast<unsigned long long>(n_flips), static_cast<unsigned long long>(traffic.n_sent),
        static_cast<unsigned long long>(traffic.n_received), loop.count(packets_broken), loop.count(packets_no_room),
        loop.count(slots_dropped), loop.count(code_errors), loop.count(disparity_errors), loop.count(comma_errors),
        loop.count(alignment_lost));
    expect(n_flips > 0 && traffic.n_received > traffic.n_sent / 10, "too little was tried");
    expect(traffic.n_received < traffic.n_sent, "no packet was hit");
    expect(loop.count(clock_errors) == 0, "a wrong clock value was believed");
    expect(line_errors(loop) > 0 && loop.count(slots_dropped) > 0, "flipped bits were not counted");
}

// Flips one bit at a time: each must be counted, and the link must recover.
void single(int n, Random& random) {
    Loop loop;
    start(loop, 47, random, 10);
    Traffic traffic(random, 1.0);
    quiet(loop, traffic, 8 * frame_cycles);
    int n_counted = 0;
    std::uint64_t dropped_before = loop.count(slots_dropped);
    for (int i = 0; i < n; ++i) {
        const std::uint64_t before = line_errors(loop);
        quiet(loop, traffic, below(random, frame_cycles));
        traffic.before_edge(loop, false);
        loop.step(1u << below(random, 20));
        quiet(loop, traffic, 2 * frame_cycles);
        n_counted += line_errors(loop) > before;
        expect(loop.io().is_aligned, "one flipped bit lost the alignment");
    }
    const std::uint64_t n_dropped = loop.count(slots_dropped) - dropped_before;
    std::printf("single %d counted %d slots_dropped %llu\n", n, n_counted, static_cast<unsigned long long>(n_dropped));
    expect(n_counted == n, "a flipped bit was not counted");
    expect(n_dropped > 0 && n_dropped <= static_cast<std::uint64_t>(n), "one bit cost more than one slot");
}

// All channels full: every slot of every frame is full, and every word arrives.
void rate(int n_frames, Random& random) {
    Loop loop;
    start(loop, 13, random, 10);
    Traffic traffic(random, 1.0, true);
    quiet(loop, traffic, 10 * frame_cycles);
    const std::uint64_t words_before = traffic.n_slot_words, sent_before = traffic.n_words_sent;
    quiet(loop, traffic, n_frames * frame_cycles);
    const std::uint64_t n_words = traffic.n_slot_words - words_before;
    std::printf("rate frames %d words %llu sent %llu cycles_per_frame %d payload_share %.3f errors %llu\n", n_frames,
                static_cast<unsigned long long>(n_words),
                static_cast<unsigned long long>(traffic.n_words_sent - sent_before), frame_cycles,
                4.0 * static_cast<double>(n_words) / (static_cast<double>(n_frames) * frame_cycles),
                static_cast<unsigned long long>(line_errors(loop)));
    expect(line_errors(loop) + loop.count(packets_broken) + loop.count(packets_no_room) == 0, "errors on a clean line");
    expect(n_words == std::uint64_t{n_channels} * slot_words * static_cast<unsigned>(n_frames), "a slot was not full");
}

}  // namespace
}  // namespace links

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const std::string what = argv[1];
    const long n = std::strtol(argv[2], nullptr, 10);
    links::Random random(std::strtoull(argv[3], nullptr, 10));
    if (what == "resets") {
        links::resets(static_cast<int>(n), random, false);
        links::resets(static_cast<int>(n), random, true);
    } else if (what == "flips" && argc > 4) {
        links::flips(static_cast<std::uint64_t>(n), random, std::atoi(argv[4]));
    } else if (what == "single") {
        links::single(static_cast<int>(n), random);
    } else if (what == "rate") {
        links::rate(static_cast<int>(n), random);
    } else {
        return 2;
    }
    return links::n_wrong ? 1 : 0;
}
