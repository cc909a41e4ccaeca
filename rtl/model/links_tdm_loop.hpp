// SPDX-License-Identifier: Apache-2.0
// One link_tdm_loop: the Verilated sender and receiver, and the line between them as bits with a delay.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "Vlink_tdm_loop.h"

namespace links {

constexpr int n_channels = LINK_CHANNELS;
constexpr int slot_words = LINK_SLOT_WORDS;
constexpr int frame_cycles = 7 + n_channels * (4 * slot_words + 3);

enum Count {
    frames,
    slots,
    slots_dropped,
    code_errors,
    disparity_errors,
    comma_errors,
    out_of_step,
    clock_errors,
    packets_broken,
    packets_no_room,
    alignment_lost,
    n_counts
};

/// A serial line: bits in at one end, out at the other delay_bits later, the newest bit in front.
class Line {
  public:
    Line(int delay_bits, std::mt19937_64& random) {
        for (int i = 0; i < delay_bits; ++i) bits_.push_back(random() & 1);
    }
    /// Moves 20 bits (bit 0 sent first), each of flips' bits turned over on the way.
    std::uint32_t pass(std::uint32_t word, std::uint32_t flips = 0) {
        for (int i = 0; i < 20; ++i) bits_.push_back((word ^ flips) >> i & 1);
        std::uint32_t out = 0;
        for (int i = 0; i < 20; ++i) {
            out |= std::uint32_t{bits_.front()} << i;
            bits_.pop_front();
        }
        return out;
    }

  private:
    std::deque<bool> bits_;
};

/// A word of a packet as the test sends it; the last one may be of fewer than 8 bytes.
struct Word {
    std::uint64_t data = 0;
    std::uint8_t n_bytes = 8;
    bool is_last = true;
};

/// The model, one cycle at a time: set its inputs, step(flips), look at its outputs of the new cycle.
class Loop {
  public:
    Loop() : model_(std::make_unique<Vlink_tdm_loop>()) { model_->clock_counter = 0; }
    Vlink_tdm_loop& io() { return *model_; }
    std::uint64_t now() const { return model_->clock_counter; }
    void line(int delay_bits, std::mt19937_64& random) { line_ = std::make_unique<Line>(delay_bits, random); }

    void offer(int channel, const Word* word) {
        const std::uint8_t keep = word ? 0xFF >> (8 - word->n_bytes) : 0;
        const std::uint64_t data = word ? word->data : 0x5555555555555555;
        set(model_->s_tvalid, channel, word != nullptr);
        set(model_->s_tlast, channel, word && word->is_last);
        put64(model_->s_tdata, channel, data);
        put8(model_->s_tkeep, channel, keep);
    }
    bool takes(int channel) { return (model_->s_tready >> channel & 1) && (model_->s_tvalid >> channel & 1); }
    std::uint64_t out_data(int channel) {
        return model_->m_tdata[2 * channel] | std::uint64_t{model_->m_tdata[2 * channel + 1]} << 32;
    }
    int out_bytes(int channel) { return __builtin_popcount(model_->m_tkeep >> (8 * channel) & 0xFF); }
    std::uint32_t count(Count which) const { return model_->counts[which]; }

    /// Outputs after evaluating the inputs of this cycle: the combinational part before the edge.
    void settle() {
        model_->clk = 0;
        model_->eval();
    }
    void step(std::uint32_t flips = 0) {
        const std::uint32_t arriving = line_->pass(model_->tx_raw, flips);
        model_->clk = 1;
        model_->eval();
        model_->clock_counter = model_->clock_counter + 1;
        model_->rx_raw = arriving;
        settle();
    }

  private:
    template <typename Port>
    static void set(Port& port, int bit, bool on) {
        port = static_cast<Port>((port & ~(Port{1} << bit)) | (Port{on} << bit));
    }
    template <typename Port>
    static void put64(Port& port, int at, std::uint64_t value) {
        port[2 * at] = static_cast<std::uint32_t>(value);
        port[2 * at + 1] = static_cast<std::uint32_t>(value >> 32);
    }
    template <typename Port>
    static void put8(Port& port, int at, std::uint8_t value) {
        port = static_cast<Port>((port & ~(Port{0xFF} << (8 * at))) | (Port{value} << (8 * at)));
    }

    std::unique_ptr<Vlink_tdm_loop> model_;
    std::unique_ptr<Line> line_;
};

}  // namespace links
