// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "core/counters/counters.hpp"
#include "km3net/messages/daq_messages.hpp"
#include "km3net/messages/message_counters.hpp"
#include "memory/persistent_buffers.hpp"
#include "pipeline/stage.hpp"
#include "store/record_file.hpp"

namespace anello::km3net {

struct MessageStoreConfig {
    std::string path;  ///< of the file; empty: nothing is written
    store::FileRules rules{};
    std::uint32_t detector = 1;     ///< number of the detector, written in each message
    std::uint64_t first_slice = 0;  ///< frame_index counts from this slice; 0: from the first that arrives
    std::uint32_t n_buffers = 4;    ///< number of slices that may wait between trigger and file
    std::size_t buffer_bytes = 0;   ///< room for the messages of one slice
};

/// The stage store writes the messages of each slice, in the order of slices, to one file. While the disk pauses,
/// buffers fill; when none is free, the trigger waits, and so do the stages before it.
class MessageStore {
  public:
    /// Counters: "store". Throws SystemError, also when the file exists already.
    MessageStore(const MessageStoreConfig& config, CounterPage& page);
    MessageStore(const MessageStore&) = delete;
    MessageStore& operator=(const MessageStore&) = delete;

    // The trigger's thread calls these. Hot path: no allocation, no lock, no log, no throw.
    bool has_room() noexcept { return is_begun_ || (is_begun_ = buffers_.try_take_free(buffer_)); }
    /// Writes the messages of one slice. Requires has_room().
    void write(const Slice& slice, const daq::LookedAt& looked_at, std::span<const L1Hit> l1) noexcept;
    void add_event(const daq::LookedAt& looked_at, daq::Event event) noexcept;  ///< the store numbers the events
    void hand_over() noexcept;

    pipeline::Stage stage();

  private:
    struct Full {
        std::uint32_t buffer, n_messages, n_without_room;
        std::size_t n_bytes;
    };
    void count(bool is_written) noexcept { ++(is_written ? full_now_.n_messages : full_now_.n_without_room); }
    std::size_t work() noexcept;
    void add_notices(pipeline::Notices& notices);

    const MessageStoreConfig config_;
    Counters<MessageCounter> counters_;
    store::RecordFile file_;
    memory::PersistentBuffers buffers_;
    memory::SpscRing<Full> full_;
    // Only the trigger's thread uses these:
    daq::Writer writer_;
    daq::Origin origin_;
    std::uint64_t first_slice_, n_events_ = 0;  ///< of the run
    bool is_begun_ = false;
    std::uint32_t buffer_ = 0;
    Full full_now_{};
    std::atomic<std::uint64_t> n_given_{0}, n_done_{0};
};

}  // namespace anello::km3net
