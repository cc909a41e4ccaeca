// SPDX-License-Identifier: Apache-2.0
#include "rich/emit/primitive_emitter.hpp"

#include <cerrno>

#include "core/errors.hpp"

namespace anello::rich {
namespace {

constexpr std::size_t arena_bytes(std::size_t n_frames) noexcept {
    return (n_frames + 1) * wire::mtp::full_packet_bytes;
}

/// Signed distance of two frame numbers of 24 bits.
std::int32_t frames_between(std::uint32_t from, std::uint32_t to) noexcept {
    return static_cast<std::int32_t>((to - from) << 8) >> 8;
}

bool is_full(int error) noexcept {
    return error == EAGAIN || error == ENOBUFS;
}

const EmitterConfig& validated(const EmitterConfig& config) {
    config.validate();
    return config;
}

}  // namespace

void EmitterConfig::validate() const {
    if (max_gap_frames == 0 || max_gap_frames >= (1U << 23))
        throw ConfigError("max_gap_frames", "must be 1 to 8388607", std::to_string(max_gap_frames),
                          "1048576 (6.7 s) is the default.");
    if (fill_words > wire::mtp::max_primitives)
        throw ConfigError("fill_words", "must be 0 to 255", std::to_string(fill_words), "8 is the default.");
    if (max_tries == 0) throw ConfigError("max_tries", "must be above 0", "0", "1000 is the default.");
}

PrimitiveEmitter::PrimitiveEmitter(const EmitterConfig& config, DatagramSink& sink, CounterPage& page,
                                   const std::string& block_name)
    : config_(validated(config)),
      sink_(sink),
      counters_(page.add_block<EmitCounter>(block_name)),
      arena_(std::make_unique<std::byte[]>(arena_bytes(max_pending))),
      pending_(max_pending),
      writer_({arena_.get(), wire::mtp::full_packet_bytes}, config.source_id, config.sub_source_id) {}

void PrimitiveEmitter::give(const DecisionBatch& decisions) noexcept {
    counters_.add(EmitCounter::decisions, decisions.n_events);
    if (!in_burst_ || decisions.burst_id != burst_id_) begin_burst(decisions.burst_id);
    for (std::uint32_t event = 0; event < decisions.n_events; ++event)
        add(static_cast<std::uint32_t>(decisions.event_key[event]), decisions.fine_time[event],
            decisions.primitive_id[event]);
    if (decisions.end_of_burst) end_burst();
    flush();
}

void PrimitiveEmitter::finish() noexcept {
    end_burst();
    flush();
}

void PrimitiveEmitter::begin_burst(std::uint32_t burst_id) noexcept {
    end_burst();
    in_burst_ = true;
    burst_id_ = burst_id;
    begin_frame(0);
}

void PrimitiveEmitter::end_burst() noexcept {
    if (in_burst_) close_frame();
    in_burst_ = false;
}

void PrimitiveEmitter::add(std::uint32_t timestamp_ticks, std::uint8_t fine_time, std::uint16_t primitive_id) noexcept {
    using wire::mtp::AddResult;
    const bool is_in_time = advance_to(timestamp_ticks / wire::mtp::frame_ticks);
    if (primitive_id == 0) return;
    counters_.add(EmitCounter::primitives_in);
    if (!is_in_time) return counters_.add(EmitCounter::primitives_late);
    switch (writer_.add({.id = primitive_id, .fine_time = fine_time, .timestamp_ticks = timestamp_ticks})) {
        case AddResult::ok:
            return counters_.add(EmitCounter::primitives);
        case AddResult::full:
            return counters_.add(EmitCounter::primitives_overflow);
        case AddResult::wrong_id:
            return counters_.add(EmitCounter::primitives_invalid);
        case AddResult::wrong_frame:
        case AddResult::out_of_order:
            return counters_.add(EmitCounter::primitives_late);
    }
}

/// Closes frames until `frame` is open. Returns false when it was closed before.
bool PrimitiveEmitter::advance_to(std::uint32_t frame) noexcept {
    const std::int32_t distance = frames_between(writer_.frame(), frame);
    if (distance <= 0) return distance == 0;
    if (static_cast<std::uint32_t>(distance) > config_.max_gap_frames) {
        counters_.add(EmitCounter::frames_skipped, static_cast<std::uint32_t>(distance) - 1);
        close_frame();
        begin_frame(frame);
        return true;
    }
    for (std::int32_t i = 0; i < distance; ++i) {
        const std::uint32_t next = writer_.frame() + 1;
        close_frame();
        begin_frame(next);
    }
    return true;
}

/// Begins a frame at the place in the arena from which it will be sent.
void PrimitiveEmitter::begin_frame(std::uint32_t frame) noexcept {
    if (n_pending_ == 0) used_bytes_ = 0;
    writer_ = wire::mtp::PacketWriter({arena_.get() + used_bytes_, wire::mtp::full_packet_bytes}, config_.source_id,
                                      config_.sub_source_id);
    writer_.begin(frame);
}

void PrimitiveEmitter::close_frame() noexcept {
    counters_.add(EmitCounter::frames);
    if (writer_.n_primitives() == 0) counters_.add(EmitCounter::frames_empty);
    const std::size_t length = writer_.finish(config_.fill_words);
    pending_[n_pending_++] = {arena_.get() + used_bytes_, length};
    used_bytes_ += length;
    if (n_pending_ == max_pending || used_bytes_ + wire::mtp::full_packet_bytes > arena_bytes(max_pending)) flush();
}

void PrimitiveEmitter::count_error(int error) noexcept {
    counters_.add(is_full(error)          ? EmitCounter::errors_full
                  : error == ECONNREFUSED ? EmitCounter::errors_refused
                                          : EmitCounter::errors_other);
}

/// Sends all closed frames. The open frame stays at its place in the arena.
void PrimitiveEmitter::flush() noexcept {
    std::span<const std::span<const std::byte>> left(pending_.data(), n_pending_);
    for (std::uint32_t n_tries = 0; !left.empty();) {
        const SendResult result = sink_.send(left);
        counters_.add(EmitCounter::sends);
        for (std::size_t i = 0; i < result.n_taken; ++i) counters_.add(EmitCounter::bytes_sent, left[i].size());
        counters_.add(EmitCounter::frames_sent, result.n_taken);
        left = left.subspan(result.n_taken);
        if (result.n_taken > 0) n_tries = 0;
        if (result.error == EINTR || (result.error == 0 && result.n_taken > 0)) continue;
        count_error(result.error);
        if (++n_tries < config_.max_tries && is_full(result.error)) continue;
        // The error is not a full buffer, or it lasts too long: this frame is lost, the next one is tried.
        counters_.add(EmitCounter::frames_lost);
        left = left.subspan(1);
        n_tries = 0;
    }
    n_pending_ = 0;
}

std::size_t PrimitiveEmitter::do_work() noexcept {
    const int error = sink_.take_far_error();
    if (error == 0) return 0;
    count_error(error);
    return 1;
}

}  // namespace anello::rich
