// SPDX-License-Identifier: Apache-2.0
#include "exchange/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.hpp"
#include "core/keys.hpp"
#include "core/thread.hpp"
#include "wire/payload_pattern.hpp"

namespace anello::exchange {
namespace {

constexpr Nanoseconds room_wait_ns = 100'000;
constexpr std::size_t max_per_step = 4;  ///< so that other work of the same thread gets its turn

namespace generator_table {

using C = GeneratorConfig;
using K = Key<C>;
constexpr double max_fragment_bytes = 65'528;  ///< a size is a 16-bit number, and fragments are padded to 8 bytes

constexpr std::array keys{
    K::of<&C::rate_hz>("rate_hz", {0, 1e9}, "Events/s; 0: as fast as buffers become free."),
    K::of<&C::fragment_mean_bytes>("fragment_mean_bytes", {1, max_fragment_bytes}, "Mean size of a fragment."),
    K::of<&C::fragment_sigma_bytes>("fragment_sigma_bytes", {0, max_fragment_bytes},
                                    "Standard deviation of the size of a fragment.")
        .for_experts(),
    K::of<&C::fragment_min_bytes>("fragment_min_bytes", {1, max_fragment_bytes}, "Smallest fragment.").for_experts(),
    K::of<&C::fragment_max_bytes>("fragment_max_bytes", {1, max_fragment_bytes}, "Largest fragment.").for_experts(),
    K::of<&C::payload>("payload",
                       "prepared: bytes and checksums are made once, since writing a card's own memory costs no CPU "
                       "time; fresh: every byte is written for every event."),
    K::of<&C::when_full>("when_full", "What the card does without a free buffer; drops are counted."),
};

}  // namespace generator_table

}  // namespace

constinit const Keys<GeneratorConfig> generator_keys{"generator", "The emulated readout card of each readout unit.",
                                                     generator_table::keys};

void GeneratorConfig::validate() const {
    generator_keys.check(*this);
    if (fragment_min_bytes > fragment_max_bytes)
        throw ConfigError("generator.fragment_min_bytes", "must not be above fragment_max_bytes",
                          fmt::format("{} and {}", fragment_min_bytes, fragment_max_bytes),
                          "The defaults are 32 and 240.");
    if (!(fragment_mean_bytes >= fragment_min_bytes && fragment_mean_bytes <= fragment_max_bytes))
        throw ConfigError("generator.fragment_mean_bytes", "must lie between fragment_min_bytes and fragment_max_bytes",
                          fmt::format("{}", fragment_mean_bytes), "The default is 200.");
    if (packing < 1 || packing > 0xffff)
        throw ConfigError("exchange.packing", "must be 1 to 65535", std::to_string(packing), "The default is 600.");
    if (max_mfp_bytes() > std::numeric_limits<std::uint32_t>::max() / 2)
        throw ConfigError("exchange.packing", "must leave a multi-fragment packet below 2 GiB",
                          std::to_string(max_mfp_bytes()), "Lower it, or generator.fragment_max_bytes.");
}

Generator::Generator(const GeneratorConfig& config, MfpRing& ring, const Clock& clock, CounterPage& page)
    : config_((config.validate(), config)),
      ring_(ring),
      clock_(clock),
      counters_(page.add_block<GeneratorCounter>("generator")),
      random_(config.seed, config.source_id),
      restamp_(static_cast<std::uint16_t>(config.packing)) {
    if (ring.buffer_bytes() < config.max_mfp_bytes())
        throw ConfigError("generator.fragment_max_bytes", "must leave a multi-fragment packet within its buffer",
                          std::to_string(config.max_mfp_bytes()), "Lower it, or exchange.packing.");
    if (config_.payload == PayloadMode::prepared) prepare();
}

void Generator::prepare() {
    length_bytes_.resize(ring_.n_buffers());
    tables_checksum_.resize(ring_.n_buffers());
    std::vector<std::uint32_t> taken;
    for (std::uint32_t buffer = 0; ring_.try_take_free(buffer);) taken.push_back(buffer);
    for (const std::uint32_t buffer : taken) {
        length_bytes_[buffer] = write_new(buffer, 0, std::uint64_t{buffer} * config_.packing);
        tables_checksum_[buffer] = wire::mfp::Restamp::tables_checksum(ring_.bytes(buffer));
        ring_.give_back(buffer);
    }
}

/// Rounds to the nearest byte and clamps, as published generators of event building do.
std::uint16_t Generator::fragment_size() noexcept {
    const double size = config_.fragment_mean_bytes + config_.fragment_sigma_bytes * random_.gaussian() + 0.5;
    return static_cast<std::uint16_t>(
        std::clamp(size, double(config_.fragment_min_bytes), double(config_.fragment_max_bytes)));
}

std::uint32_t Generator::write_new(std::uint32_t buffer, std::uint64_t first_event,
                                   std::uint64_t pattern_event) noexcept {
    wire::mfp::Writer writer(ring_.bytes(buffer), {.alignment_log2 = GeneratorConfig::alignment_log2,
                                                   .source_id = config_.source_id,
                                                   .n_fragments = static_cast<std::uint16_t>(config_.packing),
                                                   .run_id = config_.run_id,
                                                   .first_event = first_event,
                                                   .ready_ns = clock_.wall_ns()});
    for (std::uint32_t i = 0; i < config_.packing; ++i)
        wire::write_pattern(writer.add(fragment_size()), config_.source_id,
                            static_cast<std::uint32_t>(pattern_event + i));
    return static_cast<std::uint32_t>(writer.finish());
}

Nanoseconds Generator::due_ns(std::uint64_t mep) const noexcept {
    if (config_.rate_hz == 0) return begun_ns_;
    const double events = static_cast<double>(mep - first_mep_ + 1) * config_.packing;
    return begun_ns_ + static_cast<Nanoseconds>(events / config_.rate_hz * 1e9);
}

Nanoseconds Generator::next_due_ns() const noexcept {
    const bool nothing_due = first_mep_ == MfpRing::never || is_waiting_ || next_mep_ >= ring_.end_mep();
    return nothing_due ? std::numeric_limits<Nanoseconds>::max() : due_ns(next_mep_);
}

/// The ring does not notify when there is room again, or which MEP is the first.
Nanoseconds Generator::longest_wait_ns() const noexcept {
    if (is_waiting_) return room_wait_ns;
    if (first_mep_ == MfpRing::never) return usual_wait_ns;
    return std::clamp<Nanoseconds>(next_due_ns() - clock_.monotonic_ns(), 0, longest_idle_ns);
}

bool Generator::try_begin() noexcept {
    first_mep_ = next_mep_ = ring_.first_mep();
    if (first_mep_ == MfpRing::never) return false;
    ring_.pass(first_mep_);
    begun_ns_ = clock_.monotonic_ns();
    return true;
}

std::size_t Generator::do_work() noexcept {
    if (first_mep_ == MfpRing::never && !try_begin()) return 0;
    const Nanoseconds now_ns = config_.rate_hz == 0 ? begun_ns_ : clock_.monotonic_ns();
    std::size_t n_made = 0;
    while (n_made < max_per_step && try_make_one(now_ns)) ++n_made;
    return n_made;
}

bool Generator::try_make_one(Nanoseconds now_ns) noexcept {
    if (next_mep_ >= ring_.end_mep()) return false;
    const Nanoseconds behind_ns = now_ns - due_ns(next_mep_);
    if (behind_ns < 0) return false;
    std::uint32_t buffer = 0;
    const bool has_room = ring_.try_take_free(buffer);
    is_waiting_ = !has_room && config_.when_full == WhenFull::wait;
    if (is_waiting_) {
        counters_.add(GeneratorCounter::waits_for_room);
        return false;
    }
    if (static_cast<std::uint64_t>(behind_ns) > counters_[GeneratorCounter::behind_ns_max])
        counters_.set(GeneratorCounter::behind_ns_max, static_cast<std::uint64_t>(behind_ns));
    if (has_room) {
        fill(buffer);
    } else {
        counters_.add(GeneratorCounter::mfps_dropped);
        ring_.pass(next_mep_ + 1);
    }
    ++next_mep_;
    return true;
}

void Generator::fill(std::uint32_t buffer) noexcept {
    const std::uint64_t first_event = next_mep_ * config_.packing;
    std::uint32_t length_bytes = 0;
    if (config_.payload == PayloadMode::prepared) {
        length_bytes = length_bytes_[buffer];
        restamp_(ring_.bytes(buffer), first_event, clock_.wall_ns(), tables_checksum_[buffer]);
    } else {
        length_bytes = write_new(buffer, first_event, first_event);
    }
    counters_.add(GeneratorCounter::mfps);
    counters_.add(GeneratorCounter::events, config_.packing);
    counters_.add(GeneratorCounter::bytes, length_bytes);
    ring_.give({.mep = next_mep_, .buffer = buffer, .length_bytes = length_bytes});
}

}  // namespace anello::exchange
