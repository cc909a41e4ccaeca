// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "events/card_events.hpp"
#include "pipeline/told.hpp"
#include "receive/numbers/source_binding.hpp"
#include "rich/chain/event_source.hpp"

namespace anello::rich {

/// Takes events that the network card's model has merged, in one stage in place of receive and build. It is called
/// receive, because a thread waits for its descriptor.
class CardSource final : public EventSource {
  public:
    /// Counters: "nanet", "nanet.merge", "build", "build.boardN". All references must outlive it. Throws
    /// ConfigError when the card cannot do what is configured, SystemError.
    CardSource(const NodeConfig& config, memory::PersistentBuffers& batches, events::BatchSink& sink,
               const Clock& clock, CounterPage& page);

    std::vector<pipeline::Stage> stages() override;
    std::uint64_t n_batches_out() const noexcept override {
        return events_.counters()[events::BuildCounter::batches_out];
    }
    bool finished() const noexcept override { return card_.finished(); }
    std::vector<std::uint16_t> ports() const override;
    /// There are no logs: the card does not record sequence numbers.
    void for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>&) override {}

  private:
    struct Seen {
        pipeline::SilenceNotice silence{};
        receive::ThrottledNotice ahead{};
    };

    void add_notices(pipeline::Notices& notices);
    void add_loss_notices(pipeline::Notices& notices);
    void add_states(pipeline::States& states) const;
    std::uint32_t n_boards() const noexcept { return static_cast<std::uint32_t>(seen_.size()); }
    events::BoardState state(std::uint32_t board) const noexcept;

    const events::MergerConfig config_;
    receive::NanetMerger card_;
    events::CardEvents events_;
    std::vector<Seen> seen_;  ///< state of each board at the last notices
    pipeline::AddedNotice dropped_packets_, socket_dropped_;
    pipeline::TroubleNotice trouble_;
};

}  // namespace anello::rich
