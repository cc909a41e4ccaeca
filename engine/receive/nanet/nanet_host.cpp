// SPDX-License-Identifier: Apache-2.0
#include "receive/nanet/nanet_host.hpp"

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::uint32_t gap_cycles = 3;     // preamble, FCS and gap of 10GbE
constexpr std::uint32_t answer_cycles = 4;  // delay of the memory's acknowledgement of a write
constexpr std::uint32_t settle_cycles = 4;  // delay until a register's new value counts
constexpr std::uint8_t slave_error = 2;     // AXI4
constexpr std::size_t most_frames = 256, most_accesses = 256, most_bursts = 256, most_words = 4096;

std::byte* at_page(std::span<std::byte> region) {
    const auto address = reinterpret_cast<std::uintptr_t>(region.data());
    return region.data() + (NanetHost::page_bytes - address % NanetHost::page_bytes) % NanetHost::page_bytes;
}

std::uint64_t address_of(const std::byte* place) {
    return reinterpret_cast<std::uintptr_t>(place);
}

}  // namespace

NanetHost::NanetHost(const std::string& library)
    : model_(library),
      buffers_({.n_buffers = n_pages + 1, .buffer_bytes = page_bytes}),  // one more: they need not begin with a page
      memory_(at_page(buffers_.bytes(0))),
      frames_(most_frames),
      begun_(most_frames),
      accesses_(most_accesses),
      bursts_(most_bursts),
      words_(most_words),
      answers_(most_bursts),
      full_(std::size_t{1} << ring_log2) {
    reset();
    for (std::uint32_t p = 0; p < n_pages; ++p) {
        const std::uint64_t page = address_of(memory_) / page_bytes + p;
        const std::uint32_t at = p * nanet::tlb::stride;
        write(nanet::tlb::virtual_page + at, static_cast<std::uint32_t>(page));
        write(nanet::tlb::physical_page_low + at, static_cast<std::uint32_t>(page));
        write(nanet::tlb::physical_page_high + at, static_cast<std::uint32_t>(page >> 32));
        write(nanet::tlb::valid + at, 1);
    }
    write(nanet::ring::base_low, static_cast<std::uint32_t>(address_of(memory_)));
    write(nanet::ring::base_high, static_cast<std::uint32_t>(address_of(memory_) >> 32));
    write(nanet::ring::size_log2, ring_log2);
    require_answers();
}

void NanetHost::require_answers() const {
    if (is_answering_) return;
    throw ConfigError("receive.nanet_library",
                      "must be a card that answers each access to its registers within " +
                          std::to_string(most_answer_cycles) + " cycles",
                      model_.path(), "`anello nanet library` makes one that does, of the card's sources as they are.");
}

void NanetHost::reset() noexcept {
    std::memset(memory_, 0, ring_bytes);  // phase 0: there is no completion
    in_.tx_tready = in_.s_axil_bready = in_.s_axil_rready = 1;
    in_.m_axi_awready = in_.m_axi_wready = 1;
    in_.s_axil_wstrb = 15;
    in_.rst = 1;
    for (std::uint32_t i = 0; i < settle_cycles; ++i) model_.step(in_, out_);
    in_.rst = 0;
}

void NanetHost::write(std::uint32_t address, std::uint32_t value) noexcept {
    if (!is_answering_) return;
    accesses_.put({true, address, value});
    await_accesses();
    for (std::uint32_t i = 0; i < settle_cycles; ++i) step();
}

std::uint32_t NanetHost::read(std::uint32_t address) noexcept {
    if (!is_answering_) return 0;
    accesses_.put({false, address, 0});
    await_accesses();
    return is_answering_ ? value_ : 0;
}

void NanetHost::await_accesses() noexcept {
    for (std::size_t n_left = accesses_.size(); n_left > 0 && is_answering_; n_left = accesses_.size()) {
        for (std::uint32_t i = 0; accesses_.size() == n_left && i < most_answer_cycles; ++i) step();
        is_answering_ = accesses_.size() < n_left;
    }
    while (!accesses_.empty()) accesses_.take();
}

void NanetHost::open_list(std::uint32_t list, std::size_t first_byte, std::uint32_t n_buffers,
                          std::uint32_t buffer_bytes, std::uint32_t gathering_cycles) noexcept {
    std::byte* const base = memory_ + ring_bytes + first_byte;
    const std::uint32_t at = list * nanet::list::stride;
    list_[list] = {base, n_buffers * std::size_t{buffer_bytes}};
    buffer_bytes_[list] = buffer_bytes;
    write(nanet::list::base_low + at, static_cast<std::uint32_t>(address_of(base)));
    write(nanet::list::base_high + at, static_cast<std::uint32_t>(address_of(base) >> 32));
    write(nanet::list::buffer_bytes + at, buffer_bytes);
    write(nanet::list::max_records + at, 0);
    write(nanet::list::gathering_cycles + at, gathering_cycles);
    write(nanet::list::overwrite + at, 0);
    write(nanet::list::n_buffers + at, n_buffers);
}

bool NanetHost::try_take_begun(std::uint32_t& cycle) noexcept {
    if (begun_.empty()) return false;
    cycle = begun_.take();
    return true;
}

bool NanetHost::try_take_full(Full& full) noexcept {
    if (full_.empty()) return false;
    full = full_.take();
    return true;
}

void NanetHost::give_back(std::uint32_t list, std::uint32_t n_buffers) noexcept {
    if (!is_answering_) return;
    accesses_.put({true, nanet::list::credit + list * nanet::list::stride, n_buffers});
    n_reported_read_ = n_completions_ - static_cast<std::uint32_t>(full_.size());
    accesses_.put({true, nanet::ring::tail, n_reported_read_});
}

void NanetHost::step() noexcept {
    drive_network();
    drive_bus();
    drive_memory();
    model_.step(in_, out_);
    take_writes();
    take_answer();
    ++cycle_;
}

/// The MAC does not wait: the card must take its words.
void NanetHost::drive_network() noexcept {
    in_.rx_tvalid = 0;
    if (gap_ > 0) {
        --gap_;
        return;
    }
    if (frames_.empty()) return;
    if (at_ == 0) begun_.put(static_cast<std::uint32_t>(cycle_));
    drive_word(frames_.front());
    ++at_;
    if (in_.rx_tlast == 0) return;
    at_ = 0;
    gap_ = gap_cycles;
    frames_.take();
}

void NanetHost::drive_word(std::span<const std::byte> frame) noexcept {
    const std::span<const std::byte> rest = frame.subspan(8 * at_);
    const std::size_t n_bytes = std::min<std::size_t>(8, rest.size());
    in_.rx_tdata = 0;
    std::memcpy(&in_.rx_tdata, rest.data(), n_bytes);
    in_.rx_tkeep = static_cast<std::uint8_t>((1U << n_bytes) - 1);
    in_.rx_tlast = rest.size() <= 8;
    in_.rx_tuser = 0;
    in_.rx_tvalid = 1;
}

void NanetHost::drive_bus() noexcept {
    const bool asks = !accesses_.empty() && !is_asked_;
    in_.s_axil_awvalid = in_.s_axil_wvalid = asks && accesses_.front().is_write;
    in_.s_axil_arvalid = asks && !accesses_.front().is_write;
    if (!asks) return;
    in_.s_axil_awaddr = in_.s_axil_araddr = static_cast<std::uint16_t>(accesses_.front().address);
    in_.s_axil_wdata = accesses_.front().value;
}

void NanetHost::drive_memory() noexcept {
    in_.m_axi_bvalid = !answers_.empty() && answers_.front().cycle <= cycle_;
    in_.m_axi_bresp = in_.m_axi_bvalid != 0 ? answers_.front().response : 0;
}

void NanetHost::take_writes() noexcept {
    if (in_.m_axi_bvalid != 0 && out_.m_axi_bready != 0) answers_.take();
    if (out_.m_axi_awvalid != 0) bursts_.put({out_.m_axi_awaddr, out_.m_axi_awlen + 1U, false});
    if (out_.m_axi_wvalid != 0) words_.put({out_.m_axi_wdata, out_.m_axi_wstrb});
    while (!words_.empty() && !bursts_.empty()) {
        Burst& burst = bursts_.front();
        store(burst, words_.take());
        if (--burst.n_words > 0) continue;
        answers_.put({cycle_ + answer_cycles, burst.is_wrong ? slave_error : std::uint8_t{0}});
        bursts_.take();
        read_ring();
    }
}

/// Limits writes to our memory, whatever the card does.
void NanetHost::store(Burst& burst, const Word& word) noexcept {
    const std::uint64_t at = burst.address - address_of(memory_);
    burst.address += sizeof word.data;
    burst.is_wrong |= at % sizeof word.data != 0 || at > n_pages * std::uint64_t{page_bytes} - sizeof word.data;
    if (burst.is_wrong) return;
    if (word.strobe == 0xff) {
        std::memcpy(memory_ + at, &word.data, sizeof word.data);
        return;
    }
    for (unsigned i = 0; i < sizeof word.data; ++i)
        if (((word.strobe >> i) & 1) != 0) memory_[at + i] = static_cast<std::byte>(word.data >> (8 * i));
}

void NanetHost::take_answer() noexcept {
    const bool is_taken =
        (in_.s_axil_awvalid != 0 && out_.s_axil_awready != 0) || (in_.s_axil_arvalid != 0 && out_.s_axil_arready != 0);
    if (is_taken) is_asked_ = true;
    if (out_.s_axil_bvalid == 0 && out_.s_axil_rvalid == 0) return;
    if (accesses_.empty()) return;  // an answer that nothing waits for any more
    ANELLO_ASSERT((out_.s_axil_bvalid != 0 ? out_.s_axil_bresp : out_.s_axil_rresp) == 0);
    value_ = out_.s_axil_rdata;
    accesses_.take();
    is_asked_ = false;
}

/// The phase shows new completions. After an invalid one, all later ones are ignored, and their frames count as
/// refused.
void NanetHost::read_ring() noexcept {
    for (;;) {
        nanet::Completion c;
        std::memcpy(&c, memory_ + sizeof c * (n_completions_ & ((1U << ring_log2) - 1)), sizeof c);
        const bool is_new = c.phase == (((n_completions_ >> ring_log2) & 1) == 0 ? 1 : 0);
        if (!is_new || c.number != n_completions_ || c.list >= nanet::list::n || c.n_records == 0) return;
        const std::size_t at = c.buffer * std::size_t{buffer_bytes_[c.list]};
        if (at >= list_[c.list].size() || c.used_bytes > buffer_bytes_[c.list]) return;
        full_.put({c, list_[c.list].subspan(at, c.used_bytes), static_cast<std::uint32_t>(cycle_)});
        ++n_completions_;
        highest_ring_ = std::max(highest_ring_, n_completions_ - n_reported_read_);
    }
}

}  // namespace anello::receive
