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

/// The card's model, the source of its frames, and the counters of both ("nanet"), for all kinds of records.
class NanetCard {
  public:
    static constexpr std::uint32_t buffer_bytes = 3 * 4096;  ///< of every list: holds a frame of 9 kB
    static constexpr std::uint32_t most_buffers = 64;        ///< of a list, a limit of the card
    static constexpr std::uint32_t record_alignment = 64;
    static constexpr std::uint8_t is_bad = 1 | 4;        ///< flags of a record
    static constexpr std::uint32_t verdict_cycles = 64;  ///< a frame's verdict is counted within this time

    /// page: for the counters; null: a page of its own. Throws ConfigError, SystemError.
    NanetCard(const std::string& library, std::unique_ptr<NanetFrames> frames, CounterPage* page);

    NanetFrames& frames() noexcept { return *frames_; }
    const NanetFrames& frames() const noexcept { return *frames_; }
    NanetHost& host() noexcept { return host_; }
    const NanetHost& host() const noexcept { return host_; }
    Counters<NanetCounter>& counters() noexcept { return counters_; }
    const Counters<NanetCounter>& counters() const noexcept { return counters_; }

    /// Set-up: sets address and ports, and then enables frames. Everything else must be set before. Throws ConfigError.
    void enable();

    // Hot path: no allocation, no lock, no log, no throw.
    /// Takes and counts the frames available now; they are valid until the next call.
    std::size_t take_frames(std::span<NanetFrame> frames) noexcept;
    void count_buffer(const NanetHost::Full& full) noexcept;
    void read_counts() noexcept;  ///< Reads the card's registers; the clock runs meanwhile.

    // For the operator, any thread.
    std::string describe(const std::string& buffers) const;
    std::string trouble() const;

  private:
    void show_levels() noexcept;

    std::unique_ptr<NanetFrames> frames_;
    CounterPage own_page_;
    Counters<NanetCounter> counters_;
    NanetHost host_;
};

/// Set-up. Throws ConfigError if the card has fewer streams.
void require_streams(std::size_t n_streams);

}  // namespace anello::receive
