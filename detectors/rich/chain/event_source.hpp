// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "events/batch_sink.hpp"
#include "pipeline/stage.hpp"
#include "receive/numbers/sequence_log.hpp"
#include "rich/chain/node_config.hpp"

namespace anello::rich {

/// The stages before the trigger, which make batches of events from datagrams.
class EventSource {
  public:
    EventSource() = default;
    EventSource(const EventSource&) = delete;
    EventSource& operator=(const EventSource&) = delete;
    virtual ~EventSource() = default;

    virtual std::vector<pipeline::Stage> stages() = 0;
    virtual std::uint64_t n_batches_out() const noexcept = 0;
    virtual bool finished() const noexcept = 0;  ///< True at the end of a file.
    virtual std::vector<std::uint16_t> ports() const = 0;
    /// Calls use(board, its log) by position among the ports. Call it only after the threads have ended.
    virtual void for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use) = 0;
};

/// Makes RichBoards and a Merger or, with receive.nanet_merge, a CardSource. All references must outlive the source.
/// Throws ConfigError, SystemError.
std::unique_ptr<EventSource> make_event_source(const NodeConfig& config, memory::PersistentBuffers& batches,
                                               events::BatchSink& sink, const Clock& clock, CounterPage& page);

}  // namespace anello::rich
