// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "camera/chain/kept_events.hpp"
#include "camera/send/event_encoder.hpp"
#include "pipeline/stage.hpp"

namespace anello::camera {

/// The stage compress: threads that make records and rows of kept events, side by side, between filter and send. What
/// they make stays where it is until the sender is done with it; then they use that memory again.
class CameraEncoding {
  public:
    /// kept and choices must outlive it; kept has as many lanes as config has threads. Throws ConfigError,
    /// std::bad_alloc.
    CameraEncoding(const EncodingConfig& config, CompressionChoices& choices, KeptEvents& kept,
                   const CameraShape& shape);

    /// Must not outlive it. It has drained when the sender has.
    pipeline::Stage stage();

  private:
    struct Lane {
        Lane(const EncodingConfig& config, const CameraShape& shape);

        EventEncoder encoder;
        std::vector<std::vector<std::byte>> buffers;  ///< used in turn
        std::size_t next = 0;
        KeptEvent* made = nullptr;  ///< for which the sender has no room yet
    };

    std::size_t do_work(std::uint32_t lane) noexcept;  ///< Events encoded.
    bool try_hand_on(std::uint32_t number) noexcept;
    Nanoseconds longest_wait_ns(std::uint32_t lane) const noexcept;

    CompressionChoices& choices_;
    KeptEvents& kept_;
    std::deque<Lane> lanes_;
};

}  // namespace anello::camera
