// SPDX-License-Identifier: Apache-2.0
#include "receive/nanet/nanet_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace anello::receive {
namespace {

constexpr std::uint32_t buffer_bytes = NanetCard::buffer_bytes, record_alignment = NanetCard::record_alignment;
constexpr std::uint32_t most_settle_cycles = 8192;  // cycles in which the card processes all frames that it has
constexpr std::uint8_t is_bad = NanetCard::is_bad;

std::uint32_t buffers_of_a_list(std::size_t n_streams) {
    require_streams(n_streams);
    const std::size_t that_fit = NanetHost::list_bytes / (n_streams * buffer_bytes);
    return static_cast<std::uint32_t>(
        std::min({that_fit, std::size_t{NanetCard::most_buffers}, NanetFrames::most_at_once}));
}

}  // namespace

NanetBackend::NanetBackend(const NanetBackendConfig& config, std::unique_ptr<NanetFrames> frames, CounterPage* page)
    : card_(config.library, std::move(frames), page),
      n_buffers_(buffers_of_a_list(card_.frames().n_streams())),
      settle_cycles_(config.gathering_cycles + most_settle_cycles),
      streams_(card_.frames().n_streams()),
      n_refused_(streams_.size()),
      round_(n_buffers_) {
    open_lists(config);
    card_.enable();
}

void NanetBackend::open_lists(const NanetBackendConfig& config) {
    for (std::uint32_t s = 0; s < streams_.size(); ++s)
        host_.open_list(s, std::size_t{s} * n_buffers_ * buffer_bytes, n_buffers_, buffer_bytes,
                        config.gathering_cycles);
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t NanetBackend::receive(std::span<Datagram> batch) noexcept {
    give_back();
    if (const std::size_t n_datagrams = lend(batch); n_datagrams > 0) return n_datagrams;
    if (!begin_round()) return 0;
    run_round();
    return lend(batch);
}

void NanetBackend::set_wanted(std::uint16_t stream, bool wanted) noexcept {
    streams_[stream].wanted = wanted;
    card_.frames().set_wanted(stream, wanted);
}

bool NanetBackend::is_read(std::uint16_t stream) const noexcept {
    if (!streams_[stream].wanted) return false;
    return !card_.frames().has_time() || (streams_[stream].full.empty() && card_.frames().is_read(stream));
}

std::uint64_t NanetBackend::kernel_dropped(std::uint16_t stream) const noexcept {
    return card_.frames().kernel_dropped(stream) + refused(stream);
}

std::uint64_t NanetBackend::n_super_packets(std::uint16_t stream) const noexcept {
    return card_.frames().n_super_packets(stream);
}

bool NanetBackend::finished() const noexcept {
    return (card_.frames().finished() || !host_.answers()) &&
           std::ranges::all_of(streams_, [](const Stream& stream) { return stream.full.empty(); });
}

void NanetBackend::give_back() noexcept {
    for (std::uint32_t s = 0; s < streams_.size(); ++s) {
        if (streams_[s].n_done == 0) continue;
        host_.give_back(s, streams_[s].n_done);
        streams_[s].n_done = 0;
    }
}

/// Returns false if there are no frames. All buffers of all wanted streams are free at this point.
bool NanetBackend::begin_round() noexcept {
    host_.await_accesses();
    if (!host_.answers()) {
        counters_.set(NanetCounter::unanswered, 1);
        return false;
    }
    n_round_ = card_.take_frames(round_);
    n_begun_ = 0;
    if (n_round_ == 0) {
        if (counts_are_old_ && ++n_idle_ > 1) read_counts();
        return false;
    }
    n_idle_ = 0;
    counts_are_old_ = true;
    for (Stream& stream : streams_)
        while (stream.full.empty() && !stream.sent.empty()) stream.sent.take();  // the refused ones
    for (const NanetFrame& frame : std::span(round_).first(n_round_)) host_.send(frame.bytes);
    return true;
}

void NanetBackend::run_round() noexcept {
    for (const NanetFrame& frame : std::span(round_).first(n_round_)) {
        if (frame.stream < 0) continue;
        ++streams_[static_cast<std::size_t>(frame.stream)].n_awaited;
        ++n_awaited_;
    }
    while (!host_.sent_all()) step();
    for (std::uint32_t i = 0; n_awaited_ > 0 && i < settle_cycles_; ++i) step();
    end_round();
}

void NanetBackend::step() noexcept {
    host_.step();
    for (std::uint32_t cycle = 0; host_.try_take_begun(cycle);) note_begun(cycle);
    for (NanetHost::Full full; host_.try_take_full(full);) note_full(full);
}

void NanetBackend::note_begun(std::uint32_t cycle) noexcept {
    const NanetFrame& frame = round_[n_begun_++];
    if (frame.stream >= 0) streams_[static_cast<std::size_t>(frame.stream)].sent.put({cycle, frame.kernel_ns});
}

void NanetBackend::note_full(const NanetHost::Full& full) noexcept {
    const nanet::Completion& completion = full.completion;
    Stream& stream = streams_[completion.list];
    stream.full.put(full);
    const std::uint32_t n_awaited = std::min<std::uint32_t>(completion.n_records, stream.n_awaited);
    stream.n_awaited -= n_awaited;
    n_awaited_ -= n_awaited;
    card_.count_buffer(full);
}

/// The card has refused or dropped all records that are still expected.
void NanetBackend::end_round() noexcept {
    counters_.set(NanetCounter::cycles, host_.cycle());
    if (n_awaited_ == 0) return;
    for (std::uint16_t s = 0; s < streams_.size(); ++s) refuse(s, std::exchange(streams_[s].n_awaited, 0U));
    n_awaited_ = 0;
}

void NanetBackend::read_counts() noexcept {
    counts_are_old_ = false;
    for (std::uint32_t i = 0; i < NanetCard::verdict_cycles; ++i) step();
    card_.read_counts();
}

void NanetBackend::refuse(std::uint16_t stream, std::uint32_t n_frames) noexcept {
    n_refused_[stream].store(refused(stream) + n_frames, relaxed);  // one writer
    counters_.add(NanetCounter::refused, n_frames);
}

std::size_t NanetBackend::lend(std::span<Datagram> batch) noexcept {
    std::size_t n_lent = 0;
    const std::size_t n_streams = streams_.size();
    for (std::size_t i = 0; i < n_streams; ++i) {
        const auto stream = static_cast<std::uint16_t>((first_turn_ + i) % n_streams);
        while (n_lent < batch.size() && lend_record(stream, batch[n_lent])) ++n_lent;
    }
    first_turn_ = static_cast<std::uint16_t>((first_turn_ + 1U) % n_streams);
    counters_.add(NanetCounter::datagrams, n_lent);
    return n_lent;
}

/// Returns false if this stream has no record, or is not wanted.
bool NanetBackend::lend_record(std::uint16_t number, Datagram& datagram) noexcept {
    Stream& stream = streams_[number];
    while (stream.wanted && !stream.full.empty()) {
        nanet::RecordHeader header{};
        const std::span payload = next_record(stream, header);
        const Nanoseconds kernel_ns = kernel_stamp(stream, header.first_beat);
        datagram = {.bytes = payload,
                    .stream = number,
                    .cut = false,
                    .kernel_ns = kernel_ns,
                    .source = {header.source_ip, header.source_port}};
        if ((header.flags & is_bad) == 0) return true;
        refuse(number, 1);
    }
    return false;
}

/// A record that exceeds its buffer counts as bad, like one that the card marks as bad.
std::span<const std::byte> NanetBackend::next_record(Stream& stream, nanet::RecordHeader& header) noexcept {
    const NanetHost::Full full = stream.full.front();
    const std::span rest = full.bytes.subspan(std::min(stream.at, full.bytes.size()));
    if (rest.size() >= sizeof header) std::memcpy(&header, rest.data(), sizeof header);
    const bool is_whole = rest.size() >= sizeof header + header.length;
    if (!is_whole) {
        header = {};
        header.flags = is_bad;
    }
    stream.at += (sizeof header + header.length + record_alignment - 1) / record_alignment * record_alignment;
    if (++stream.n_lent == full.completion.n_records) {
        stream.full.take();
        stream.at = stream.n_lent = 0;
        ++stream.n_done;
    }
    return is_whole ? rest.subspan(sizeof header, header.length) : rest.first(0);
}

/// A record names its frame by the cycle of the frame's start; earlier frames have no record.
Nanoseconds NanetBackend::kernel_stamp(Stream& stream, std::uint32_t first_beat) noexcept {
    while (!stream.sent.empty())
        if (const Sent sent = stream.sent.take(); sent.first_beat == first_beat) return sent.kernel_ns;
    return 0;
}

std::string NanetBackend::describe() const {
    return card_.describe(fmt::format("{} buffers of {} bytes a stream", n_buffers_, buffer_bytes));
}

}  // namespace anello::receive
