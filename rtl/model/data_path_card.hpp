// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <vector>

#include "Vdata_path.h"
#include "card_events.hpp"

/// Runs the Verilated data path in steps of one cycle, with its ports as vectors of datagrams and events.
namespace card {

class Card {
  public:
    Card(const Config& config, std::uint64_t seed) : config_(config), random_(seed) {
        top_.rst = 1;
        top_.clk = 0;
        top_.s_tvalid = 0;
        top_.m_tready = 0;
        set(top_.boards, config.mask);
        top_.n_channels = config.n_channels;
        top_.drop_when_full = config.drop_when_full;
        top_.window = config.window;
        top_.far_fine = config.far_fine;
        top_.timeout = config.timeout_cycles;
        top_.keep_incomplete = config.keep_incomplete;
        for (std::uint32_t b = 0; b < n_boards; ++b) {
            put(top_.board_ids, 16 * b, 16, config.stream_to_id + b);
            put(top_.board_streams, 4 * b, 4, b);
        }
        for (int i = 0; i < 4; ++i) {
            clock();
            ++cycle;
            top_.cycle = static_cast<std::uint32_t>(cycle);
        }
        top_.rst = 0;
    }

    void send(Datagram datagram) { waiting_.push_back(std::move(datagram)); }
    bool sent_all() const { return waiting_.empty() && at_ == 0; }
    std::size_t n_waiting() const { return waiting_.size(); }

    /// Runs one cycle. Pulses of the cycle are in top() before its edge; see the callback.
    template <typename BeforeEdge>
    void step(BeforeEdge before_edge) {
        drive();
        top_.clk = 0;
        top_.eval();
        before_edge(*this);
        count();
        const bool taken = top_.s_tvalid && top_.s_tready;
        top_.clk = 1;
        top_.eval();
        ++cycle;
        top_.cycle = static_cast<std::uint32_t>(cycle);
        if (taken) next_beat();
    }
    void step() {
        step([](Card&) {});
    }

    Vdata_path& top() { return top_; }
    std::uint64_t cycle = 0;
    Counts counts;
    std::vector<Event> events;
    std::vector<std::uint32_t> burst_ends;  ///< number of events before each end
    std::uint64_t first_event_cycle = 0, last_event_cycle = 0, n_words = 0, n_input_beats = 0;
    /// Sent datagrams without a verdict yet, in their order: each verdict is compared with the software's.
    std::deque<Datagram> in_doubt;

  private:
    template <typename T>
    static void set(T& port, std::uint64_t value) {
        port = static_cast<T>(value);
    }
    /// Ports of up to 64 bits are integers, wider ones arrays of 32-bit words.
    template <typename T>
    static void put(T& port, unsigned at, unsigned width, std::uint32_t value) {
        if constexpr (std::is_integral_v<T>) {
            const T mask = static_cast<T>(((T{1} << width) - 1) << at);
            port = static_cast<T>((port & ~mask) | (static_cast<T>(value) << at));
        } else {
            const std::uint32_t mask = ((1U << width) - 1) << (at % 32);
            port[at / 32] = (port[at / 32] & ~mask) | (value << (at % 32));
        }
    }
    void clock() {
        top_.clk = 0;
        top_.eval();
        top_.clk = 1;
        top_.eval();
    }
    bool chance(double share) { return share > 0 && std::uniform_real_distribution<>(0, 1)(random_) < share; }

    void drive() {
        // AXI-Stream: an offered word stays offered until it is taken.
        if (!top_.s_tvalid || was_taken_) {
            was_taken_ = false;
            const bool pauses = !waiting_.empty() && at_ == 0 && waiting_.front().pause_cycles > 0;
            if (pauses) --waiting_.front().pause_cycles;
            top_.s_tvalid = !waiting_.empty() && !pauses && !chance(config_.input_gaps);
            if (top_.s_tvalid) offer();
        }
        top_.m_tready = !chance(config_.output_stalls);
    }
    void offer() {
        Datagram& datagram = waiting_.front();
        if (at_ == 0) datagram.stamp = cycle;
        const std::size_t n_left = datagram.bytes.size() - 8 * at_;
        std::uint64_t word = random_();  // on a real line, too, the bytes that fill the last beat are not zero
        const std::size_t n = std::min<std::size_t>(8, n_left);
        if (n > 0) std::memcpy(&word, datagram.bytes.data() + 8 * at_, n);
        top_.s_tdata = word;
        top_.s_tkeep = static_cast<std::uint8_t>((1U << n) - 1);
        top_.s_tlast = n_left <= 8;
        top_.s_tuser = top_.s_tlast && datagram.is_bad;
        top_.s_stream = static_cast<std::uint8_t>(datagram.board);
        top_.s_length = static_cast<std::uint16_t>(datagram.bytes.size());
        if (at_ == 0) top_.s_stamp = static_cast<std::uint32_t>(cycle);
    }
    void next_beat() {
        ++n_input_beats;
        was_taken_ = true;
        if (!top_.s_tlast) {
            ++at_;
            return;
        }
        at_ = 0;
        in_doubt.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
    }

    void count() {
        if (top_.verdict_valid) ++counts.verdicts[top_.verdict];
        counts.dropped += top_.dropped;
        counts.complete += top_.event_complete;
        counts.incomplete += top_.event_incomplete;
        counts.rejected += top_.event_rejected;
        counts.merged += top_.n_merged;
        counts.bursts += top_.burst_over;
        for (std::uint32_t b = 0; b < n_boards; ++b) {
            counts.late[b] += (top_.late >> b) & 1;
            counts.duplicate[b] += (top_.duplicate >> b) & 1;
            counts.ahead[b] += (top_.ahead >> b) & 1;
            counts.missing[b] += (top_.missing >> b) & 1;
            counts.silenced[b] += (top_.silenced >> b) & 1;
        }
        if (!top_.m_tvalid || !top_.m_tready) return;
        record_.push_back(top_.m_tdata);
        ++n_words;
        if (!top_.m_tlast) return;
        if (top_.m_tuser)
            burst_ends.push_back(static_cast<std::uint32_t>(events.size()));
        else
            read_record();
        record_.clear();
    }

    void read_record() {
        if (first_event_cycle == 0) first_event_cycle = cycle;
        last_event_cycle = cycle;
        Event event;
        const std::size_t n = read_event(record_, config_.channels_per_board, event);
        if (n != record_.size()) {
            std::fprintf(stderr, "record of %zu words should have %zu\n", record_.size(), n);
            std::exit(1);
        }
        events.push_back(std::move(event));
    }

    Config config_;
    std::mt19937_64 random_;
    Vdata_path top_;
    std::deque<Datagram> waiting_;
    std::size_t at_ = 0;  ///< next beat of the first datagram
    bool was_taken_ = false;
    std::vector<std::uint64_t> record_;
};

}  // namespace card
