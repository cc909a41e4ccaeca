// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "camera/send/record.hpp"
#include "core/thread.hpp"

namespace anello::camera {

/// Which steps of compression suit the data of a run, found on its first events: each of them is encoded once, by one
/// candidate after the other, so that looking costs nothing but the time of the slow ones. Then the one that makes the
/// smallest records of those that stay within the time; where none does, the fastest. Records say how they were made.
/// Only the configured steps are there to be chosen where the configuration says so.
class CompressionChoice {
  public:
    static constexpr std::uint32_t events_per_candidate = 8;

    /// Ways without differences only, where config has none.
    explicit CompressionChoice(const CompressionConfig& config);

    // Hot path: no allocation, no lock, no log, no throw.
    const CompressionConfig& now() const noexcept { return candidates_[chosen_.load(std::memory_order_acquire)]; }
    bool is_open() const noexcept { return n_tried_ < candidates_.size() * events_per_candidate; }
    /// While it is open, by one thread: the steps for the next event, and what became of it.
    const CompressionConfig& next() const noexcept { return candidates_[n_tried_ % candidates_.size()]; }
    void tried(Nanoseconds cpu_ns, const EncodedEvent& made) noexcept;

    /// For the operator; empty where there was no choice. Any thread.
    std::string describe() const;

  private:
    struct Tally {
        std::uint64_t cpu_ns = 0, bytes_in = 0, bytes_out = 0;

        double ns_per_byte() const noexcept { return static_cast<double>(cpu_ns) / static_cast<double>(bytes_in); }
        double share() const noexcept { return static_cast<double>(bytes_out) / static_cast<double>(bytes_in); }
    };
    double us_per_event(const Tally& tally) const noexcept;
    bool is_better(const Tally& one, const Tally& other) const noexcept;
    void choose() noexcept;

    double budget_us_;
    std::vector<CompressionConfig> candidates_;
    std::vector<Tally> tallies_;  ///< by candidate; of the thread that tries, until something is chosen
    std::uint64_t n_tried_ = 0, largest_bytes_ = 0;
    std::atomic<std::size_t> chosen_{0};
    std::atomic<bool> has_chosen_{false};
};

/// By the steps that are chosen; a thread that tries takes part in the choice. Hot path: as the encoder's.
template <typename Encoder>
EncodedEvent encode_event(CompressionChoice& choice, bool tries, Encoder& encoder, const CameraEventView& event,
                          std::span<std::byte> out) noexcept {
    if (!tries || !choice.is_open()) {
        encoder.use(choice.now());
        return encoder.encode_event(event, out);
    }
    encoder.use(choice.next());
    const Nanoseconds began_ns = thread_cpu_ns();
    const EncodedEvent made = encoder.encode_event(event, out);
    choice.tried(thread_cpu_ns() - began_ns, made);
    return made;
}

}  // namespace anello::camera
