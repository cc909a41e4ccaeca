// SPDX-License-Identifier: Apache-2.0
#include "receive/card/clop.hpp"

#include <fmt/format.h>
#include <poll.h>

#include "core/clock.hpp"
#include "core/errors.hpp"

namespace anello::receive {
namespace {

const ClopConfig& checked(const ClopConfig& config) {
    if (config.gathering_time_ns < 0 || config.gathering_time_ns > 1'000'000'000)
        throw ConfigError("gathering_time_ns", "must be 0 to 1 s", std::to_string(config.gathering_time_ns),
                          "200 us are the default.");
    return config;
}

}  // namespace

Clop::Clop(const ClopConfig& config, CounterPage& page, std::size_t number)
    : config_(checked(config)),
      format_(config.format.empty() ? nullptr : &wire::packet_format_named(config.format)),
      blocks_(config.buffers),
      records_(new DatagramRecord[std::size_t{config.buffers.n_blocks} * config.buffers.max_datagrams]),
      bell_(make_event_descriptor()),
      counters_(page.add_block<PortCounter>(fmt::format("card.port{}", number))),
      verdicts_(page.add_block<wire::Verdict>(fmt::format("card.port{}.verdicts", number))),
      losses_(page.add_block<CardCounter>(fmt::format("card.port{}.losses", number))),
      port_(config.port) {
    if (format_ != nullptr) sequences_.emplace(config.max_sources, losses_);
}

// Hot path from here on: no allocation, no lock, no log, no throw.
bool Clop::try_take(ClopBuffer& buffer) noexcept {
    std::span<const Datagram> datagrams;
    if (!blocks_.try_take(datagrams, buffer.number)) {
        take_event(bell_);  // then look once more: earlier buffers are seen now, later ones ring again
        if (is_finished()) signal_event(bell_);  // signal for ever at the end, since no later buffer would
        if (!blocks_.try_take(datagrams, buffer.number)) return false;
    }
    buffer.bytes = blocks_.bytes(buffer.number);
    DatagramRecord* const records = records_.get() + std::size_t{buffer.number} * config_.buffers.max_datagrams;
    for (std::size_t i = 0; i < datagrams.size(); ++i) records[i] = record_of(datagrams[i], buffer.bytes.data());
    buffer.datagrams = {records, datagrams.size()};
    return true;
}

DatagramRecord Clop::record_of(const Datagram& datagram, const std::byte* buffer) noexcept {
    wire::Summary summary;
    wire::Verdict verdict = datagram.cut ? wire::Verdict::wrong_length : wire::Verdict::ok;
    if (verdict == wire::Verdict::ok && format_ != nullptr) verdict = format_->check(datagram.bytes, summary);
    verdicts_.add(verdict);
    if (verdict == wire::Verdict::ok && sequences_) sequences_->take(summary, datagram.source);
    return {.offset_bytes = static_cast<std::uint64_t>(datagram.bytes.data() - buffer),
            .length_bytes = static_cast<std::uint32_t>(datagram.bytes.size()),
            .source_host = datagram.source.host(),
            .source_port = datagram.source.port(),
            .verdict = verdict,
            .has_sequence = summary.has_sequence ? std::uint8_t{1} : std::uint8_t{0},
            .sequence = summary.sequence,
            .source_id = summary.source_id,
            .n_items = summary.n_items,
            .sent_ns = summary.sent_ns,
            .kernel_ns = datagram.kernel_ns};
}

bool Clop::wait(ClopBuffer& buffer, Nanoseconds timeout_ns) noexcept {
    const Clock& clock = SystemClock::instance();
    const Nanoseconds begin_ns = clock.monotonic_ns();
    for (;;) {
        const bool is_last = is_finished();  // read first, so that try_take() below finds all buffers handed on before
        if (try_take(buffer)) return true;
        const Nanoseconds left_ns = timeout_ns < 0 ? 1'000'000'000 : timeout_ns - (clock.monotonic_ns() - begin_ns);
        if (is_last || left_ns <= 0) return false;
        pollfd awaited{bell_.number(), POLLIN, 0};
        const timespec at_most{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
        ppoll(&awaited, 1, &at_most, nullptr);
    }
}

bool Clop::try_add(const Datagram& datagram, Nanoseconds monotonic_ns) noexcept {
    const std::uint64_t n_before = blocks_.n_handed_on();
    const bool was_open = blocks_.has_open();
    const bool was_added = blocks_.try_add(datagram) || (overwrite_oldest() && blocks_.try_add(datagram));
    if (was_added && (!was_open || blocks_.n_handed_on() != n_before)) opened_ns_ = monotonic_ns;
    if (!was_added && config_.full_policy == FullPolicy::wait) return false;
    was_added ? count(datagram) : drop(datagram);
    return true;
}

/// Overwrites the oldest full buffer, never one that the program holds.
bool Clop::overwrite_oldest() noexcept {
    if (config_.full_policy != FullPolicy::overwrite_oldest) return false;
    const std::uint32_t n_lost = blocks_.withdraw_oldest();
    losses_.add(CardCounter::overwritten, n_lost);
    return n_lost > 0;
}

void Clop::drop(const Datagram& datagram) noexcept {
    count(datagram);
    counters_.add(PortCounter::blocks_dropped);
}

void Clop::count(const Datagram& datagram) noexcept {
    counters_.add(PortCounter::datagrams);
    counters_.add(PortCounter::bytes, datagram.bytes.size());
}

bool Clop::on_time(Nanoseconds monotonic_ns) noexcept {
    if (blocks_.has_open() && monotonic_ns - opened_ns_ >= config_.gathering_time_ns) blocks_.hand_on();
    if (n_notified_ != blocks_.n_handed_on()) {
        n_notified_ = blocks_.n_handed_on();
        signal_event(bell_);
    }
    return blocks_.has_open();
}

void Clop::show(std::uint64_t n_kernel_dropped, std::uint64_t n_super_packets) noexcept {
    counters_.set(PortCounter::kernel_dropped, n_kernel_dropped);
    counters_.set(PortCounter::super_packets, n_super_packets);
}

void Clop::finish() noexcept {
    blocks_.hand_on();
    finished_.store(true, std::memory_order_release);  // pairs with the acquire in is_finished
    signal_event(bell_);
}

}  // namespace anello::receive
