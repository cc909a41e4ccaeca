// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/event_source.hpp"

#include "events/merger.hpp"
#include "rich/chain/boards.hpp"
#include "rich/chain/card_source.hpp"

namespace anello::rich {
namespace {

/// RichBoards and a Merger on this host. It has the counters of both.
class MergedHere final : public EventSource {
  public:
    MergedHere(const NodeConfig& config, memory::PersistentBuffers& batches, events::BatchSink& sink,
               const Clock& clock, CounterPage& page)
        : timeout_ns_(config.build.timeout_ns),
          boards_(config.intake, config.build.first_board, clock, page),
          merger_(boards_.complete(config.build), boards_.blocks(), batches, sink, clock, page) {}

    std::vector<pipeline::Stage> stages() override { return {boards_.stage(merger_, timeout_ns_), build_stage()}; }
    std::uint64_t n_batches_out() const noexcept override {
        return merger_.counters()[events::BuildCounter::batches_out];
    }
    bool finished() const noexcept override { return boards_.finished(); }
    std::vector<std::uint16_t> ports() const override { return boards_.ports(); }
    void for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use) override {
        boards_.for_each_sequence_log(use);
    }

  private:
    pipeline::Stage build_stage() {
        return {.name = "build",
                .do_work = [this](std::uint32_t) { return merger_.do_work(); },
                .has_input = [this](std::uint32_t) { return boards_.has_blocks(); },
                .longest_wait_ns = [this](std::uint32_t) { return merger_.longest_wait_ns(); },
                .drain = [this] { merger_.finish(); },
                .is_drained = [this] { return merger_.is_drained(); }};
    }

    const Nanoseconds timeout_ns_;
    RichBoards boards_;
    events::Merger merger_;
};

}  // namespace

std::unique_ptr<EventSource> make_event_source(const NodeConfig& config, memory::PersistentBuffers& batches,
                                               events::BatchSink& sink, const Clock& clock, CounterPage& page) {
    if (config.intake.backend.nanet_merge) return std::make_unique<CardSource>(config, batches, sink, clock, page);
    return std::make_unique<MergedHere>(config, batches, sink, clock, page);
}

}  // namespace anello::rich
