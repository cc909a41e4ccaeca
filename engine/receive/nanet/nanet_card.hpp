// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/counters/counters.hpp"
#include "receive/nanet/nanet_counters.hpp"
#include "receive/nanet/nanet_frames.hpp"
#include "receive/nanet/nanet_host.hpp"

namespace anello::receive {

/// The card's model, the frames that come to it, and what is counted of both ("nanet"), whatever its records are.
class NanetCard {
  public:
    static constexpr std::uint32_t buffer_bytes = 3 * 4096;  ///< of every list: a frame of 9 kB
    static constexpr std::uint32_t most_buffers = 64;        ///< of a list, by the card
    static constexpr std::uint32_t record_alignment = 64;
    static constexpr std::uint8_t is_bad = 1 | 4;        ///< flags of a record
    static constexpr std::uint32_t verdict_cycles = 64;  ///< after which a frame's verdict is counted

    /// page: for the counters; null: a page of its own. Throws ConfigError, SystemError.
    NanetCard(const std::string& library, std::unique_ptr<NanetFrames> frames, CounterPage* page);

    NanetFrames& frames() noexcept { return *frames_; }
    const NanetFrames& frames() const noexcept { return *frames_; }
    NanetHost& host() noexcept { return host_; }
    const NanetHost& host() const noexcept { return host_; }
    Counters<NanetCounter>& counters() noexcept { return counters_; }
    const Counters<NanetCounter>& counters() const noexcept { return counters_; }

    /// Set-up: address and ports, then frames are taken. All else is set. Throws ConfigError.
    void enable();

    // Hot path: no allocation, no lock, no log, no throw.
    /// Frames that are there now, counted; borrowed until the next call.
    std::size_t take_frames(std::span<NanetFrame> frames) noexcept;
    void count_buffer(const NanetHost::Full& full) noexcept;
    void read_counts() noexcept;  ///< From the card's registers; the clock goes on meanwhile.

    // For the operator, in any thread: counters are read whole.
    std::string describe(const std::string& buffers) const;
    std::string trouble() const;

  private:
    void show_levels() noexcept;

    std::unique_ptr<NanetFrames> frames_;
    CounterPage own_page_;
    Counters<NanetCounter> counters_;
    NanetHost host_;
};

/// Set-up. Throws ConfigError where the card has not as many streams.
void require_streams(std::size_t n_streams);

}  // namespace anello::receive
