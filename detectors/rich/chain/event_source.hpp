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

/// From datagrams to batches of events: the stages before the trigger.
class EventSource {
  public:
    EventSource() = default;
    EventSource(const EventSource&) = delete;
    EventSource& operator=(const EventSource&) = delete;
    virtual ~EventSource() = default;

    virtual std::vector<pipeline::Stage> stages() = 0;
    virtual std::uint64_t n_batches_out() const noexcept = 0;
    virtual bool finished() const noexcept = 0;  ///< The end of a file.
    virtual std::vector<std::uint16_t> ports() const = 0;
    /// By place among the ports, once the threads have ended.
    virtual void for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use) = 0;
};

/// The Merger behind RichBoards; with receive.nanet_merge the card has merged. All references must outlive it. Throws
/// ConfigError, SystemError.
std::unique_ptr<EventSource> make_event_source(const NodeConfig& config, memory::PersistentBuffers& batches,
                                               events::BatchSink& sink, const Clock& clock, CounterPage& page);

}  // namespace anello::rich
