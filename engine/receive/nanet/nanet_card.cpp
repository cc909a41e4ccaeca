// SPDX-License-Identifier: Apache-2.0
#include "receive/nanet/nanet_card.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr double cycle_us = 6.4e-3;  // at 156.25 MHz

static_assert(nanet::count::writes_failed ==
              nanet::count::frames_accepted + 4 * static_cast<std::uint32_t>(NanetCounter::writes_failed));

}  // namespace

void require_streams(std::size_t n_streams) {
    if (n_streams == 0 || n_streams > nanet::stream::n)
        throw ConfigError("receive.ports", "1 to 16 ports: the card has as many streams", std::to_string(n_streams),
                          "Use another receive.backend for more.");
}

NanetCard::NanetCard(const std::string& library, std::unique_ptr<NanetFrames> frames, CounterPage* page)
    : frames_(std::move(frames)),
      counters_((page == nullptr ? own_page_ : *page).add_block<NanetCounter>("nanet")),
      host_(library) {}

void NanetCard::enable() {
    const MacAddress mac = frames_->mac();
    host_.write(nanet::address::mac_high, static_cast<std::uint32_t>(mac[0] << 8 | mac[1]));
    host_.write(nanet::address::mac_low,
                std::uint32_t{mac[2]} << 24 | std::uint32_t{mac[3]} << 16 | std::uint32_t{mac[4]} << 8 | mac[5]);
    for (std::uint32_t s = 0; s < frames_->n_streams(); ++s)
        host_.write(nanet::stream::port + s * nanet::stream::stride,
                    1U << 16 | frames_->port(static_cast<std::uint16_t>(s)));
    host_.write(nanet::control::promiscuous, frames_->is_for_card() ? 0 : 1);
    host_.write(nanet::control::enable, 1);
    host_.require_answers();
}

std::size_t NanetCard::take_frames(std::span<NanetFrame> frames) noexcept {
    const std::size_t n = frames_->take(frames);
    for (const NanetFrame& frame : frames.first(n)) {
        counters_.add(NanetCounter::other_frames, frame.stream < 0 ? 1 : 0);
        counters_.add(NanetCounter::payload_bytes, frame.bytes.size() - std::min(frame.bytes.size(), udp_header_bytes));
    }
    counters_.add(NanetCounter::frames, n);
    return n;
}

void NanetCard::count_buffer(const NanetHost::Full& full) noexcept {
    const nanet::Completion& completion = full.completion;
    const std::uint32_t from = completion.merged == 0 ? completion.parsed : completion.merged;
    counters_.add(NanetCounter::buffers);
    counters_.add(NanetCounter::receive_cycles, completion.parsed - completion.first_beat);
    counters_.add(NanetCounter::merge_cycles, from - completion.parsed);
    counters_.add(NanetCounter::gather_cycles, completion.last_write - from);
    counters_.add(NanetCounter::hand_on_cycles, full.cycle - completion.last_write);
}

void NanetCard::read_counts() noexcept {
    for (std::uint32_t i = 0; i < n_nanet_registers && host_.answers(); ++i)
        if (const std::uint32_t value = host_.read(nanet::count::frames_accepted + 4 * i); host_.answers())
            counters_.set(static_cast<NanetCounter>(i), value);
    if (!host_.answers()) counters_.set(NanetCounter::unanswered, 1);
    counters_.set(NanetCounter::socket_dropped, frames_->socket_dropped());
    counters_.set(NanetCounter::joined_frames, frames_->n_joined());
    counters_.set(NanetCounter::cycles, host_.cycle());
    show_levels();
}

void NanetCard::show_levels() noexcept {
    using C = NanetCounter;
    const anello_nanet_levels levels = host_.highest_levels();
    const anello_nanet_level ring{host_.highest_ring(), 1U << NanetHost::ring_log2};
    const std::pair<C, anello_nanet_level> all[]{
        {C::payload_words_highest, levels.payload_words}, {C::payload_frames_highest, levels.payload_frames},
        {C::store_items_highest, levels.store_items},     {C::store_words_highest, levels.store_words},
        {C::merged_words_highest, levels.merged_words},   {C::ring_highest, ring}};
    for (const auto& [highest, level] : all) {
        counters_.set(highest, level.highest);
        counters_.set(static_cast<C>(static_cast<std::uint8_t>(highest) + 1), level.size);  // in this order
    }
}

std::string NanetCard::describe(const std::string& buffers) const {
    std::string words =
        fmt::format("the card's model {} in simulation, {}; {}", host_.sources(), buffers, frames_->describe());
    const std::uint64_t n = counters_[NanetCounter::buffers];
    if (n == 0) return words;
    const auto cycles = [&](NanetCounter counter) {
        const double mean = static_cast<double>(counters_[counter]) / static_cast<double>(n);
        return fmt::format("{:.1f} cycles ({:.2f} us)", mean, mean * cycle_us);
    };
    const std::string merging =
        counters_[NanetCounter::merge_cycles] == 0 ? "" : cycles(NanetCounter::merge_cycles) + " in the merger, ";
    return words + fmt::format(
                       "; modelled at 156.25 MHz, mean of {} buffers: {} in the receive path, {}{} until gathered and "
                       "written, {} until completed",
                       n, cycles(NanetCounter::receive_cycles), merging, cycles(NanetCounter::gather_cycles),
                       cycles(NanetCounter::hand_on_cycles));
}

std::string NanetCard::trouble() const {
    if (counters_[NanetCounter::unanswered] == 0) return {};
    return fmt::format(
        "the card's model left an access to its registers unanswered for {} cycles and is not used any more: no data "
        "arrives; `anello nanet library` makes it anew",
        NanetHost::most_answer_cycles);
}

}  // namespace anello::receive
