// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "camera/send/store_counters.hpp"
#include "core/counters/counters.hpp"
#include "store/chunk.hpp"

namespace anello::camera {

/// A row of the file's table (docs/reference/camera-table.md): the values of its columns of chunks.
struct EncodedTable {
    store::Chunk waveform{}, headers{}, tail{};
    std::uint32_t n_misfits = 0;  ///< boards whose waveforms have another shape than the table's

    std::size_t size() const noexcept { return waveform.n_bytes + headers.n_bytes + tail.n_bytes; }
};

/// An encoded event, in the buffer given to the encoder. All parts are empty if one of the requested parts failed.
struct EncodedEvent {
    std::span<const std::byte> record{};  ///< docs/reference/camera-record.md; empty: not requested
    std::size_t body_bytes = 0;           ///< bytes of headers and waveforms in record and table together
    EncodedTable table{};                 ///< empty: not requested

    std::size_t size() const noexcept { return record.size() + table.size(); }
    bool is_empty() const noexcept { return size() == 0; }
    void count(Counters<CompressCounter>& counters) const noexcept {
        counters.add(CompressCounter::events);
        counters.add(is_empty() ? CompressCounter::events_failed : CompressCounter::events_encoded);
        counters.add(CompressCounter::bytes_in, body_bytes);
        counters.add(CompressCounter::bytes_out, size());
    }
};

}  // namespace anello::camera
