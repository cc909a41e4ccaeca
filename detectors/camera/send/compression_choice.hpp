// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "camera/send/record.hpp"
#include "core/thread.hpp"

namespace anello::camera {

/// Finds the compression steps that suit the data of a run on its first events. Each event is encoded once, and the
/// candidates take turns, so that the search costs only the additional time of slow ones. Of the candidates within the
/// time budget, it chooses the one with the smallest records; if there is none, the fastest. Each record says how it
/// was made. If the configuration fixes the steps, these are the only candidate.
class CompressionChoice {
  public:
    static constexpr std::uint32_t events_per_candidate = 8;

    /// If config has no differences, only candidates without differences are tried.
    explicit CompressionChoice(const CompressionConfig& config);

    // Hot path: no allocation, no lock, no log, no throw.
    const CompressionConfig& now() const noexcept { return candidates_[chosen_.load(std::memory_order_acquire)]; }
    bool is_open() const noexcept { return n_tried_ < candidates_.size() * events_per_candidate; }
    /// While is_open(), for one thread: next() returns the steps for the next event, tried() takes the result.
    const CompressionConfig& next() const noexcept { return candidates_[n_tried_ % candidates_.size()]; }
    void tried(Nanoseconds cpu_ns, const EncodedEvent& made) noexcept;

    /// Text for the operator; empty if there was no choice. Any thread.
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
    std::vector<Tally> tallies_;  ///< by candidate; written by the thread that tries until a choice is made
    std::uint64_t n_tried_ = 0, largest_bytes_ = 0;
    std::atomic<std::size_t> chosen_{0};
    std::atomic<bool> has_chosen_{false};
};

/// Encodes an event with the chosen steps. If `tries`, this thread takes part in the choice. Hot path as the encoder's.
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
