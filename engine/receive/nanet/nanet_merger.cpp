// SPDX-License-Identifier: Apache-2.0
#include "receive/nanet/nanet_merger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::uint32_t merged_list = 16;
constexpr double cycle_ns = 6.4;
constexpr std::uint32_t most_timeout_cycles = 1U << 30;
constexpr std::size_t most_bytes_inside = 12'288;       // of the payload buffer's 16 kB
constexpr std::uint32_t piece_cycles = 512;             // cycles per call of step_for()
constexpr std::uint32_t idle_cycles = 4096;             // cycles per call without frames
constexpr std::uint32_t payload_cycles = 64;            // a frame's payload leaves the receive path within this
constexpr std::uint64_t counts_every_cycles = 200'000;  // interval of reading them, which takes some hundred cycles
constexpr std::uint32_t end_timeout_cycles = 64;        // used when no more frames come
constexpr std::uint64_t drained_cycles = 30'000;        // after this time without a buffer the stores are empty

static_assert(nanet::count::bursts_ended ==
              nanet::count::datagrams_ok + 4 * static_cast<std::uint32_t>(NanetMergeCounter::bursts_ended));

std::uint64_t timeout_cycles(const NanetMergeConfig& config) {
    if (config.timeout_cycles > 0) return config.timeout_cycles;
    const auto cycles = static_cast<std::uint64_t>(static_cast<double>(config.timeout_ns) / cycle_ns);
    if (cycles >= most_timeout_cycles)
        throw ConfigError(
            "build.timeout_ms", "must be below 6871 with receive.nanet_merge: the card counts 2^30 cycles",
            fmt::format("{:g}", static_cast<double>(config.timeout_ns) * 1e-6),
            "Lower it, or give receive.nanet_timeout_cycles, or let the software merge: receive.nanet_merge = false.");
    return cycles;
}

std::uint32_t boards_of(const NanetMergeConfig& config, const NanetFrames& frames) {
    if (config.source_ids.size() != frames.n_streams())
        throw ConfigError("receive.ports", "must be one port for each board with receive.nanet_merge",
                          fmt::format("{} ports, {} boards", frames.n_streams(), config.source_ids.size()),
                          "Name one port for each board.");
    return static_cast<std::uint32_t>(frames.n_streams());
}

}  // namespace

NanetMerger::NanetMerger(const NanetMergeConfig& config, std::unique_ptr<NanetFrames> frames, CounterPage& page)
    : card_(config.library, std::move(frames), &page),
      counters_(page.add_block<NanetMergeCounter>("nanet.merge")),
      n_boards_(boards_of(config, card_.frames())),
      gathering_cycles_(config.gathering_cycles),
      timeout_cycles_(timeout_cycles(config)),
      round_(NanetFrames::most_at_once),
      stamps_(NanetFrames::most_at_once) {
    n_card_boards_ = card_.host().read(nanet::identity::n_boards);
    if (n_boards_ > n_card_boards_)
        throw ConfigError(
            "receive.nanet_merge",
            fmt::format("can be true for 1 to {} boards: the merger of this card was made for as many", n_card_boards_),
            fmt::format("true for {} boards", n_boards_),
            "Set receive.nanet_merge = false: the software merges up to 32.");
    set_up(config);
    card_.enable();
}

void NanetMerger::set_up(const NanetMergeConfig& config) {
    namespace merger = nanet::merger;
    NanetHost& host = card_.host();
    const auto far_fine = static_cast<std::uint64_t>(static_cast<double>(config.timeout_ns) / fine_time_ns) +
                          config.window_ticks * std::uint64_t{256};
    host.open_list(merged_list, 0, NanetCard::most_buffers, NanetCard::buffer_bytes, config.gathering_cycles);
    for (std::uint32_t b = 0; b < n_boards_; ++b) {
        host.write(nanet::board::id + b * nanet::board::stride, config.source_ids[b]);
        host.write(nanet::board::stream + b * nanet::board::stride, b);
    }
    host.write(merger::boards, (1U << n_boards_) - 1);
    host.write(merger::window, config.window_ticks);
    host.write(merger::timeout, static_cast<std::uint32_t>(timeout_cycles_));
    host.write(merger::far_fine_low, static_cast<std::uint32_t>(far_fine));
    host.write(merger::far_fine_high, static_cast<std::uint32_t>(far_fine >> 32));
    host.write(merger::n_channels, config.n_channels);
    host.write(merger::keep_incomplete, config.keep_incomplete ? 1 : 0);
    host.write(merger::drop_when_full, config.drop_when_full ? 1 : 0);
    host.write(nanet::control::merge, 1);
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t NanetMerger::do_work() noexcept {
    give_back();
    if (!card_.host().answers()) return stand_still();
    if (!full_.empty()) return 0;
    if (is_through_ && !take_frames()) return wait_on();
    run_on();
    // All buffers are free, so none is missing while the counters are read.
    if (full_.empty() && card_.host().cycle() - counted_at_ > counts_every_cycles) read_counts();
    return 1;
}

/// Used with a card that does not answer.
std::size_t NanetMerger::stand_still() noexcept {
    card_.counters().set(NanetCounter::unanswered, 1);
    finished_.store(true, std::memory_order_relaxed);
    return 0;
}

bool NanetMerger::take_frames() noexcept {
    if (n_given_ == n_round_) {
        n_round_ = card_.take_frames(round_);
        n_given_ = 0;
    }
    if (n_round_ == 0) return false;
    n_idle_ = 0;
    is_through_ = false;
    newest_frame_ = card_.host().cycle();
    send_frames();
    return true;
}

/// Sends as many frames as the payload buffer has room for, at least one.
void NanetMerger::send_frames() noexcept {
    n_bytes_inside_ = 0;
    for (; n_given_ < n_round_; ++n_given_) {
        const NanetFrame& frame = round_[n_given_];
        if (n_bytes_inside_ > 0 && n_bytes_inside_ + frame.bytes.size() > most_bytes_inside) return;
        n_bytes_inside_ += frame.bytes.size();
        card_.host().send(frame.bytes);
        stamps_.put(frame.kernel_ns);
    }
}

/// The card has finished when it reports that it is idle and has handed on all gathered buffers.
void NanetMerger::run_on() noexcept {
    NanetHost& host = card_.host();
    step_for(piece_cycles);
    if (!host.sent_all()) return;
    step_for(payload_cycles);
    if (host.read(nanet::control::idle) != 1) return;
    step_for(gathering_cycles_ + payload_cycles);
    is_through_ = true;
}

/// Called without frames. Lets the card's clock run only if its merger may be waiting for a board.
std::size_t NanetMerger::wait_on() noexcept {
    NanetHost& host = card_.host();
    finished_.store(card_.frames().finished(), std::memory_order_relaxed);
    if (++n_idle_ == 2) read_counts();
    const bool may_wait = counters_[NanetMergeCounter::bursts_begun] != counters_[NanetMergeCounter::bursts_ended] &&
                          host.cycle() - newest_frame_ < 2 * timeout_cycles_ + drained_cycles;
    if (n_idle_ < 2 || !may_wait) return 0;
    step_for(idle_cycles);
    if (host.cycle() - counted_at_ > counts_every_cycles || !full_.empty()) read_counts();
    return 1;
}

/// First the card processes all frames received so far; then its time-out is shortened, so that it no longer waits.
bool NanetMerger::finish() noexcept {
    NanetHost& host = card_.host();
    give_back();
    if (!full_.empty()) return false;
    const bool is_held_up = !is_through_ && host.cycle() - newest_frame_ > drained_cycles;
    if (!is_finishing_ && !is_held_up && host.answers() && (!is_through_ || take_frames())) {
        run_on();
        return false;
    }
    if (!std::exchange(is_finishing_, true)) {
        host.write(nanet::merger::timeout, end_timeout_cycles);
        newest_buffer_ = host.cycle();
    }
    step_for(idle_cycles);
    if (!full_.empty() || (host.answers() && host.cycle() - newest_buffer_ < drained_cycles)) return false;
    read_counts();
    return full_.empty();
}

void NanetMerger::give_back() noexcept {
    if (n_done_ > 0) card_.host().give_back(merged_list, std::exchange(n_done_, 0U));
    card_.host().await_accesses();
}

/// Stops when half of the buffers are full, so that the card always has a buffer.
void NanetMerger::step_for(std::uint32_t n_cycles) noexcept {
    for (std::uint32_t i = 0; i < n_cycles && full_.size() < NanetCard::most_buffers / 2; ++i) step();
}

void NanetMerger::step() noexcept {
    NanetHost& host = card_.host();
    host.step();
    for (std::uint32_t cycle = 0; host.try_take_begun(cycle);)
        sent_[n_sent_++ % n_remembered] = {cycle, stamps_.take()};
    for (NanetHost::Full full; host.try_take_full(full);) {
        full_.put(full);
        card_.count_buffer(full);
        newest_buffer_ = host.cycle();
    }
}

void NanetMerger::read_counts() noexcept {
    NanetHost& host = card_.host();
    card_.read_counts();
    for (std::uint32_t i = 0; i < n_nanet_merge_registers; ++i)
        counters_.set(static_cast<NanetMergeCounter>(i), host.read(nanet::count::datagrams_ok + 4 * i));
    counters_.set(NanetMergeCounter::fragments, host.read(nanet::merger::fragments));
    counters_.set(NanetMergeCounter::hits, host.read(nanet::merger::hits));
    const std::uint32_t silent = host.read(nanet::merger::silent), ended = host.read(nanet::merger::ended);
    for (std::uint32_t b = 0; b < n_boards_; ++b)
        boards_[b] = {.late = host.read(nanet::count::late_0 + 4 * b),
                      .duplicate = host.read(nanet::count::duplicate_0 + 4 * b),
                      .ahead = host.read(nanet::count::ahead_0 + 4 * b),
                      .missing = host.read(nanet::count::missing_0 + 4 * b),
                      .silenced = host.read(nanet::count::silenced_0 + 4 * b),
                      .is_silent = ((silent >> b) & 1) != 0,
                      .has_ended = ((ended >> b) & 1) != 0};
    counted_at_ = host.cycle();
    ++n_readings_;
}

bool NanetMerger::try_look(NanetEvent& event) noexcept {
    while (!rest_.empty() || open_record()) {
        if (read_event(event)) return true;
        counters_.add(NanetMergeCounter::records_malformed);
        close_record();
    }
    return false;
}

void NanetMerger::take() noexcept {
    rest_ = rest_.subspan(event_bytes_);
    if (rest_.empty()) close_record();
}

/// A record that exceeds its buffer is empty and closed immediately.
bool NanetMerger::open_record() noexcept {
    while (!full_.empty()) {
        const NanetHost::Full& full = full_.front();
        const std::span rest = full.bytes.subspan(std::min(at_, full.bytes.size()));
        nanet::RecordHeader header{};
        if (rest.size() >= sizeof header) std::memcpy(&header, rest.data(), sizeof header);
        const bool is_whole = header.length > 0 && rest.size() >= sizeof header + header.length &&
                              header.stream == merged_list && (header.flags & NanetCard::is_bad) == 0;
        const std::size_t n_bytes = sizeof header + header.length;
        at_ += (n_bytes + NanetCard::record_alignment - 1) / NanetCard::record_alignment * NanetCard::record_alignment;
        ++n_records_;
        counters_.add(NanetMergeCounter::records_read);
        if (is_whole) {
            rest_ = rest.subspan(sizeof header, header.length);
            kernel_ns_ = kernel_stamp(header.first_beat);
            return true;
        }
        counters_.add(NanetMergeCounter::records_malformed);
        close_record();
    }
    return false;
}

/// A buffer is done after its last record.
void NanetMerger::close_record() noexcept {
    rest_ = {};
    if (n_records_ < full_.front().completion.n_records) return;
    full_.take();
    at_ = n_records_ = 0;
    ++n_done_;
}

/// Returns false if the record continues with no event, or an incomplete one.
bool NanetMerger::read_event(NanetEvent& event) noexcept {
    const std::size_t head_bytes = sizeof event.head + (n_card_boards_ > 4 ? sizeof event.upper : 0);
    if (rest_.size() < head_bytes) return false;
    std::memcpy(&event.head, rest_.data(), sizeof event.head);
    event.upper = {};
    if (n_card_boards_ > 4) std::memcpy(&event.upper, rest_.data() + sizeof event.head, sizeof event.upper);
    event.kernel_ns = kernel_ns_;
    std::size_t n_hit_bytes = 0;
    for (std::uint32_t b = 0; b < NanetEvent::most_boards && !event.is_end(); ++b)
        n_hit_bytes += (event.n_hits(b) + 3) / 4 * 8;
    event_bytes_ = head_bytes + n_hit_bytes;
    if (rest_.size() < event_bytes_) return false;
    event.hits = rest_.subspan(head_bytes, n_hit_bytes);
    return true;
}

/// Returns 0 if the frame is too old.
Nanoseconds NanetMerger::kernel_stamp(std::uint32_t first_beat) const noexcept {
    for (std::size_t back = 1; back <= std::min(n_sent_, n_remembered); ++back)
        if (const Sent& sent = sent_[(n_sent_ - back) % n_remembered]; sent.first_beat == first_beat)
            return sent.kernel_ns;
    return 0;
}

std::string NanetMerger::describe() const {
    return card_.describe(fmt::format("which merges {} boards into {} buffers of {} bytes", n_boards_,
                                      NanetCard::most_buffers, NanetCard::buffer_bytes));
}

}  // namespace anello::receive
