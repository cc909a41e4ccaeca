// SPDX-License-Identifier: Apache-2.0
#include "exchange/mfp_packer.hpp"

#include <fmt/format.h>

#include <limits>

#include "core/errors.hpp"

namespace anello::exchange {

MfpPacker::MfpPacker(const MfpPackerConfig& config, std::size_t max_fragment_bytes, MfpRing& ring, const Clock& clock,
                     const Counters<PackCounter>& counters)
    : config_(config), ring_(ring), clock_(clock), counters_(counters) {
    const std::size_t needed = config.max_mfp_bytes(max_fragment_bytes);
    if (config.packing < 1 || config.packing > 0xffff || ring.buffer_bytes() < needed)
        throw ConfigError("exchange.packing", "must be 1 to 65535, and leave a multi-fragment packet within its buffer",
                          fmt::format("{}: {} bytes", config.packing, needed),
                          "Where an event is large, 16 is enough.");
}

// Hot path from here on: no allocation, no lock, no log, no throw.
bool MfpPacker::try_begin() noexcept {
    if (first_mep_ != MfpRing::never) return true;
    first_mep_ = ring_.first_mep();
    if (first_mep_ == MfpRing::never) return discarding_.load(std::memory_order_relaxed);
    next_event_ = first_mep_ * config_.packing;
    ring_.pass(first_mep_);
    return true;
}

PackCounter MfpPacker::open(std::uint64_t event) noexcept {
    if (!try_begin()) return PackCounter::waits_for_room;
    if (discarding_.load(std::memory_order_relaxed)) return PackCounter::parts_left;
    if (event - next_event_ > std::numeric_limits<std::uint64_t>::max() / 2) return PackCounter::parts_before_start;
    const std::uint64_t mep = event / config_.packing;
    if (passed_end_ || mep >= ring_.end_mep()) {
        next_event_ = event + 1;
        return PackCounter::parts_after_end;
    }
    if (writer_ && mep != mep_) close();
    if (!writer_ && !try_take_buffer(mep)) return PackCounter::waits_for_room;
    for (; n_written_ < event % config_.packing; ++n_written_) writer_->add(0);
    next_event_ = event + 1;
    return PackCounter::parts_packed;
}

bool MfpPacker::try_take_buffer(std::uint64_t mep) noexcept {
    if (!ring_.try_take_free(buffer_)) return false;
    mep_ = mep;
    n_written_ = 0;
    writer_.emplace(ring_.bytes(buffer_), wire::mfp::Header{.flags = wire::mfp::long_fragments,
                                                            .alignment_log2 = MfpPackerConfig::alignment_log2,
                                                            .source_id = config_.source_id,
                                                            .n_fragments = static_cast<std::uint16_t>(config_.packing),
                                                            .run_id = config_.run_id,
                                                            .first_event = mep * config_.packing});
    return true;
}

void MfpPacker::close() noexcept {
    if (!writer_) return;
    for (; n_written_ < config_.packing; ++n_written_) writer_->add(0);
    const std::size_t length_bytes = writer_->finish(clock_.wall_ns());
    writer_.reset();
    counters_.add(PackCounter::mfps);
    counters_.add(PackCounter::bytes, length_bytes);
    ring_.give({.mep = mep_, .buffer = buffer_, .length_bytes = static_cast<std::uint32_t>(length_bytes)});
}

bool MfpPacker::try_pass_end(bool has_ended) noexcept {
    const std::uint64_t end_mep = ring_.end_mep();
    if (passed_end_ || !knows_end() || first_mep_ == MfpRing::never) return false;
    if (!has_ended && next_event_ < end_mep * config_.packing) return false;
    close();
    ring_.pass(end_mep);
    return passed_end_ = true;
}

}  // namespace anello::exchange
