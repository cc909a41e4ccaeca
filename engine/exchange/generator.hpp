// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "core/seed.hpp"
#include "core/words.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/exchange_counters.hpp"
#include "exchange/mfp_ring.hpp"
#include "source/random.hpp"
#include "wire/mfp.hpp"

namespace anello::exchange {

/// prepared: payloads and their checksums are written once per buffer, before the run, and only headers are new; this
/// resembles a card whose writes to memory cost no processor time. fresh: every byte is written for every event.
enum class PayloadMode : std::uint8_t { prepared, fresh };
/// What the emulated card does if no buffer is free.
enum class WhenFull : std::uint8_t { wait, drop };

struct GeneratorConfig {
    // generator_keys explains these fields.
    double rate_hz = 0;
    double fragment_mean_bytes = 200, fragment_sigma_bytes = 20;
    std::uint32_t fragment_min_bytes = 32, fragment_max_bytes = 240;
    PayloadMode payload = PayloadMode::prepared;
    WhenFull when_full = WhenFull::wait;
    std::uint64_t seed = default_seed;
    std::uint16_t source_id = 0;
    std::uint32_t run_id = 0;
    std::uint32_t packing = default_packing;

    static constexpr std::uint8_t alignment_log2 = 3;
    std::size_t max_mfp_bytes() const noexcept {
        return wire::mfp::max_packet_bytes(packing, fragment_max_bytes, alignment_log2);
    }
    std::size_t mean_mfp_bytes() const noexcept {
        return wire::mfp::max_packet_bytes(packing, static_cast<std::size_t>(fragment_mean_bytes), alignment_log2);
    }
    void validate() const;  ///< Throws ConfigError.
};

extern const Keys<GeneratorConfig> generator_keys;

/// Emulates a readout card: writes MFPs straight into the readout unit's buffers. A fragment of event e from source s
/// holds the pattern (wire/payload_pattern.hpp) of board s and event e (fresh), or of the buffer and the fragment's
/// position in it (prepared).
class Generator final : public MfpSource {
  public:
    /// Takes all free buffers of `ring` during the constructor, to prepare them. Throws ConfigError.
    Generator(const GeneratorConfig& config, MfpRing& ring, const Clock& clock, CounterPage& page);

    std::size_t do_work() noexcept override;
    Nanoseconds next_due_ns() const noexcept override;
    /// Longest time until there may be work again, for a generator with its own thread.
    Nanoseconds longest_wait_ns() const noexcept;

  private:
    void prepare();
    std::uint32_t write_new(std::uint32_t buffer, std::uint64_t first_event, std::uint64_t pattern_event) noexcept;
    std::uint16_t fragment_size() noexcept;
    Nanoseconds due_ns(std::uint64_t mep) const noexcept;
    bool try_begin() noexcept;
    bool try_make_one(Nanoseconds now_ns) noexcept;
    void fill(std::uint32_t buffer) noexcept;

    const GeneratorConfig config_;
    MfpRing& ring_;
    const Clock& clock_;
    Counters<GeneratorCounter> counters_;
    source::Random random_;
    wire::mfp::Restamp restamp_;
    std::vector<std::uint32_t> length_bytes_, tables_checksum_;  ///< by buffer, prepared
    std::uint64_t first_mep_ = MfpRing::never, next_mep_ = 0;
    Nanoseconds begun_ns_ = 0;
    bool is_waiting_ = false;  ///< for room, not for time
};

}  // namespace anello::exchange

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<exchange::PayloadMode>{"prepared", "fresh"};
template <>
inline constexpr std::array<const char*, 2> words_of<exchange::WhenFull>{"wait", "drop"};

}  // namespace anello
