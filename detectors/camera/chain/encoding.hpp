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

/// The stage compress, between filter and send: threads that encode kept events in parallel, as records and as rows. An
/// encoded event stays in its buffer until the sender has given the event back; then the buffer is used again.
class CameraEncoding {
  public:
    /// kept and choices must outlive it; kept has as many lanes as config has threads. Throws ConfigError,
    /// std::bad_alloc.
    CameraEncoding(const EncodingConfig& config, CompressionChoices& choices, KeptEvents& kept,
                   const CameraShape& shape);

    /// The stage must not outlive this object. It has drained when the sender has.
    pipeline::Stage stage();

  private:
    struct Lane {
        Lane(const EncodingConfig& config, const CameraShape& shape);

        EventEncoder encoder;
        std::vector<std::vector<std::byte>> buffers;  ///< used in turn
        std::size_t next = 0;
        KeptEvent* made = nullptr;  ///< an encoded event that waits for room in the ring to the sender
    };

    std::size_t do_work(std::uint32_t lane) noexcept;  ///< Returns the number of events encoded.
    bool try_hand_on(std::uint32_t number) noexcept;
    Nanoseconds longest_wait_ns(std::uint32_t lane) const noexcept;

    CompressionChoices& choices_;
    KeptEvents& kept_;
    std::deque<Lane> lanes_;
};

}  // namespace anello::camera
