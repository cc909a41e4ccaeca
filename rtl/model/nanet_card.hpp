// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "Vnanet_io.h"
#include "card_events.hpp"
#include "receive/nanet/nanet_io.hpp"

/// Runs the Verilated card in steps of one cycle, with a network, a host's memory at AXI4, and the host at AXI4-Lite.
namespace host {

namespace registers = anello::nanet;

struct Frame {
    std::vector<std::byte> bytes;  ///< from the destination address on, without FCS
    bool has_bad_fcs = false;
    std::uint32_t gap = 3;    ///< cycles to the next frame; 3: preamble, FCS and gap of 10GbE
    std::uint32_t pause = 0;  ///< additional cycles before this frame
};

/// A buffer that the card has handed on, with its content not yet overwritten.
struct Buffer {
    registers::Completion completion;
    const std::byte* bytes;
};

class Card {
  public:
    static constexpr std::uint64_t page_bytes = 1 << 16;
    static constexpr std::uint64_t virtual_base = 0x7f12'3456'0000;
    static constexpr std::uint32_t merged_list = 16, ring_log2 = 6;
    static constexpr std::uint64_t physical_base = 0x9'8765'0000;

    /// stalls: share of cycles in which the memory takes no data.
    Card(double stalls, std::uint64_t seed) : stalls_(stalls), random_(seed), memory_(16 * page_bytes) {
        top_.rst = 1;
        top_.tx_tready = 1;
        top_.s_axil_wstrb = 15;
        top_.s_axil_bready = top_.s_axil_rready = 1;
        for (int i = 0; i < 4; ++i) edge();
        top_.rst = 0;
        // Page 15 is the ring's; the pages lie in memory in another order.
        for (std::uint32_t p = 0; p < 16; ++p) {
            const std::uint64_t physical = physical_page(p);
            const std::uint32_t at = p * registers::tlb::stride;
            write(registers::tlb::virtual_page + at, static_cast<std::uint32_t>(virtual_base / page_bytes + p));
            write(registers::tlb::physical_page_low + at, static_cast<std::uint32_t>(physical));
            write(registers::tlb::physical_page_high + at, static_cast<std::uint32_t>(physical >> 32));
            write(registers::tlb::valid + at, 1);
        }
        const std::uint64_t ring = virtual_base + 15 * page_bytes;
        write(registers::ring::base_low, static_cast<std::uint32_t>(ring));
        write(registers::ring::base_high, static_cast<std::uint32_t>(ring >> 32));
        write(registers::ring::size_log2, ring_log2);
    }

    /// Sets up a list of n buffers, which begin at a page.
    void open_list(std::uint32_t list, std::uint32_t page, std::uint32_t n_buffers, std::uint32_t buffer_bytes,
                   std::uint32_t gathering) {
        const std::uint64_t base = virtual_base + page * page_bytes;
        const std::uint32_t at = list * registers::list::stride;
        first_page_[list] = page;
        buffer_bytes_[list] = buffer_bytes;
        write(registers::list::base_low + at, static_cast<std::uint32_t>(base));
        write(registers::list::base_high + at, static_cast<std::uint32_t>(base >> 32));
        write(registers::list::buffer_bytes + at, buffer_bytes);
        write(registers::list::max_records + at, 0);
        write(registers::list::gathering_cycles + at, gathering);
        write(registers::list::overwrite + at, 0);
        write(registers::list::n_buffers + at, n_buffers);
    }

    void send(Frame frame) { waiting_.push_back(std::move(frame)); }
    bool sent_all() const { return waiting_.empty() && at_ == 0; }
    std::size_t n_waiting() const { return waiting_.size(); }

    /// Writes a register and waits until it is written; frames continue in this time.
    void write(std::uint32_t address, std::uint32_t value) {
        access({true, address, value, nullptr});
        while (!accesses_.empty()) step();
        for (int i = 0; i < 4; ++i) step();
    }
    std::uint32_t read(std::uint32_t address) {
        std::uint32_t value = 0;
        access({false, address, 0, &value});
        while (!accesses_.empty()) step();
        return value;
    }
    void write_soon(std::uint32_t address, std::uint32_t value) { access({true, address, value, nullptr}); }

    void step() {
        drive_network();
        drive_bus();
        drive_memory();
        top_.clk = 0;
        top_.eval();
        watch();
        const bool aw = top_.m_axi_awvalid && top_.m_axi_awready, w = top_.m_axi_wvalid && top_.m_axi_wready;
        if (aw) bursts_.push_back({top_.m_axi_awaddr, top_.m_axi_awlen + 1U});
        if (w) words_.push_back({top_.m_axi_wdata, top_.m_axi_wstrb, top_.m_axi_wlast != 0});
        const bool b = top_.m_axi_bvalid && top_.m_axi_bready;
        const bool bus_write = top_.s_axil_awvalid && top_.s_axil_awready,
                   bus_read = top_.s_axil_arvalid && top_.s_axil_arready;
        const bool bus_b = top_.s_axil_bvalid, bus_r = top_.s_axil_rvalid;
        const std::uint32_t bus_data = top_.s_axil_rdata;
        const unsigned response = bus_b ? top_.s_axil_bresp : top_.s_axil_rresp;
        top_.clk = 1;
        top_.eval();
        ++cycle;
        write_words();
        if (b) answers_.pop_front();
        if (bus_write || bus_read) is_asked_ = true;
        if (bus_b || bus_r) answer(bus_data, response);
        if (look_at_ring && cycle % 8 == 0) read_ring();
    }

    Vnanet_io& top() { return top_; }
    std::uint64_t cycle = 0, n_data_words = 0;
    std::uint64_t first_rx = 0, last_frame_rx = 0, first_aw = 0, last_w = 0;  ///< cycles; 0: not yet
    bool look_at_ring = true;
    std::function<void(const Buffer&)> on_buffer;
    std::function<void(const Vnanet_io&)> on_cycle;  ///< called with the ports just before the clock rises

  private:
    struct Access {
        bool is_write;
        std::uint32_t address, value;
        std::uint32_t* result;
    };
    struct Burst {
        std::uint64_t address;
        std::uint32_t n_words;
    };
    struct Word {
        std::uint64_t data;
        std::uint8_t strobe;
        bool is_last;
    };
    [[noreturn]] void die(const char* what) const {
        std::fprintf(stderr, "cycle %llu: %s\n", static_cast<unsigned long long>(cycle), what);
        std::exit(1);
    }
    static std::uint64_t physical_page(std::uint32_t page) { return physical_base / page_bytes + (page * 7 + 3) % 16; }
    std::byte* at_page(std::uint32_t page) { return &memory_[(page * 7 + 3) % 16 * page_bytes]; }
    bool chance() { return stalls_ > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < stalls_; }

    void edge() {
        top_.clk = 0;
        top_.eval();
        top_.clk = 1;
        top_.eval();
        ++cycle;
    }
    void watch() {
        if (on_cycle) on_cycle(top_);
        if (top_.rx_tvalid && first_rx == 0) first_rx = cycle;
        if (top_.rx_tvalid && at_ == 0) last_frame_rx = cycle;
        if (top_.m_axi_awvalid && first_aw == 0) first_aw = cycle;
        if (top_.m_axi_wvalid && top_.m_axi_wready) last_w = cycle, ++n_data_words;
    }

    void drive_network() {
        if (top_.rx_tvalid) {  // taken in the last cycle: the MAC does not wait
            ++at_;
            if (top_.rx_tlast) {
                at_ = 0;
                idle_ = waiting_.front().gap;
                waiting_.pop_front();
            }
        }
        top_.rx_tvalid = 0;
        if (idle_ > 0) {
            --idle_;
            return;
        }
        if (waiting_.empty()) return;
        Frame& frame = waiting_.front();
        if (at_ == 0 && frame.pause > 0) {
            --frame.pause;
            return;
        }
        const std::size_t n_left = frame.bytes.size() - 8 * at_, n = std::min<std::size_t>(8, n_left);
        std::uint64_t word = random_();
        std::memcpy(&word, frame.bytes.data() + 8 * at_, n);
        top_.rx_tdata = word;
        top_.rx_tkeep = static_cast<std::uint8_t>((1U << n) - 1);
        top_.rx_tlast = n_left <= 8;
        top_.rx_tuser = top_.rx_tlast && frame.has_bad_fcs;
        top_.rx_tvalid = 1;
    }

    void access(Access a) { accesses_.push_back(a); }
    void drive_bus() {
        const bool asks = !accesses_.empty() && !is_asked_;
        top_.s_axil_awvalid = top_.s_axil_wvalid = asks && accesses_.front().is_write;
        top_.s_axil_arvalid = asks && !accesses_.front().is_write;
        if (!asks) return;
        top_.s_axil_awaddr = top_.s_axil_araddr = static_cast<std::uint16_t>(accesses_.front().address);
        top_.s_axil_wdata = accesses_.front().value;
    }
    void answer(std::uint32_t data, unsigned response) {
        if (response != 0 || accesses_.empty()) die("a register answers with an error");
        if (accesses_.front().result != nullptr) *accesses_.front().result = data;
        accesses_.pop_front();
        is_asked_ = false;
    }

    void drive_memory() {
        top_.m_axi_awready = !chance();
        top_.m_axi_wready = !chance();
        top_.m_axi_bresp = 0;
        top_.m_axi_bvalid = !answers_.empty() && answers_.front() <= cycle;
    }
    /// A burst is in memory when all its words have come, like a packet of PCIe; its answer comes some cycles later.
    void write_words() {
        while (!bursts_.empty() && words_.size() >= bursts_.front().n_words) {
            Burst burst = bursts_.front();
            bursts_.pop_front();
            for (; burst.n_words > 0; --burst.n_words, burst.address += 8, words_.pop_front()) {
                const Word& word = words_.front();
                const std::uint64_t at = burst.address - physical_base;
                if (at + 8 > memory_.size() || burst.address % 8 != 0) die("a write outside of the pages");
                for (unsigned i = 0; i < 8; ++i)
                    if ((word.strobe >> i) & 1) memory_[at + i] = static_cast<std::byte>(word.data >> (8 * i));
                if ((burst.n_words == 1) != word.is_last) die("wlast at another word than awlen says");
            }
            answers_.push_back(cycle + 4 + (stalls_ > 0 ? random_() % 40 : 0));
        }
    }

    /// Runs the host, which recognises new completions by their phase.
    void read_ring() {
        for (;;) {
            registers::Completion c;
            std::memcpy(&c, at_page(15) + sizeof c * (n_read_ & ((1U << ring_log2) - 1)), sizeof c);
            const bool is_new = c.phase == (((n_read_ >> ring_log2) & 1) == 0 ? 1 : 0);
            if (!is_new) return;
            if (c.number != n_read_ || c.list > merged_list || (c.reason & 0x80) != 0)
                die("a completion that cannot be");
            std::vector<std::byte> content(c.used_bytes);
            const std::uint64_t from = std::uint64_t{c.buffer} * buffer_bytes_[c.list];
            for (std::uint64_t i = 0; i < c.used_bytes;) {
                const std::uint64_t place = from + i,
                                    n = std::min<std::uint64_t>(page_bytes - place % page_bytes, c.used_bytes - i);
                std::memcpy(
                    &content[i],
                    at_page(first_page_[c.list] + static_cast<std::uint32_t>(place / page_bytes)) + place % page_bytes,
                    n);
                i += n;
            }
            if (on_buffer) on_buffer({c, content.data()});
            ++n_read_;
            write_soon(registers::list::credit + c.list * registers::list::stride, 1);
            write_soon(registers::ring::tail, n_read_);
        }
    }

    double stalls_;
    std::mt19937_64 random_;
    Vnanet_io top_;
    std::vector<std::byte> memory_;
    std::deque<Frame> waiting_;
    std::deque<Access> accesses_;
    std::deque<Burst> bursts_;
    std::deque<Word> words_;
    std::deque<std::uint64_t> answers_;
    std::size_t at_ = 0;
    std::uint32_t idle_ = 0, n_read_ = 0;
    bool is_asked_ = false;
    std::uint32_t first_page_[17] = {}, buffer_bytes_[17] = {};
};

}  // namespace host
