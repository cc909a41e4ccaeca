// SPDX-License-Identifier: Apache-2.0
#include "rich/farm/ends.hpp"

#include <memory>
#include <utility>

#include "rich/chain/boards.hpp"
#include "rich/chain/decisions.hpp"
#include "rich/farm/framer.hpp"
#include "rich/farm/mep_merger.hpp"

namespace anello::rich {
namespace {

/// The stages receive and build of the chain's layout; build makes time frames instead of events.
class Input final : public pipeline::ExchangeInput {
  public:
    Input(const FarmConfig& config, const exchange::ExchangeConfig& exchange, exchange::MfpRing& ring,
          const Clock& clock, CounterPage& page)
        : node_(config.node),
          boards_(node_.intake, node_.build.first_board, clock, page),
          framer_({.frames = config.frames,
                   .boards = boards_.complete(node_.build),
                   .source_id = exchange.farm.readout_of[exchange.self],
                   .run_id = exchange.run_id},
                  boards_.blocks(), ring, clock, page) {}

    std::vector<std::uint16_t> ports() const override { return boards_.ports(); }
    pipeline::ChainPart part() override {
        pipeline::Stage receive = boards_.stage(framer_, node_.build.timeout_ns);
        receive.drain = [this, drain = std::move(receive.drain)] {
            framer_.abandon();
            drain();
        };
        return {{std::move(receive),
                 {.name = "build",
                  .do_work = [this](std::uint32_t) { return framer_.do_work(); },
                  .drain = [this] { framer_.finish(); },
                  .is_drained = [this] { return framer_.is_drained(); }}},
                node_.threads,
                node_.wait};
    }

  private:
    const NodeConfig node_;
    RichBoards boards_;
    RichFramer framer_;
};

NodeConfig of_all_boards(const FarmConfig& config) {
    NodeConfig node = config.node;
    node.build.n_boards = config.n_boards;
    node.build.first_board = 0;
    node.emit.max_gap_frames = 1;              // frames without events here may be another builder's
    node.publish.block = "publish.decisions";  // "publish" would be built events
    return node;
}

/// The builder's thread merges a packet's frames into events; the stages trigger, emit and store of the chain's layout
/// decide, send and store them.
class Output final : public pipeline::ExchangeOutput {
  public:
    Output(const FarmConfig& config, const exchange::ExchangeConfig& exchange, const Clock& clock, CounterPage& page)
        : node_(of_all_boards(config)),
          decisions_(node_, clock, page),
          merger_({.frames = config.frames, .build = node_.build, .max_mfp_bytes = exchange.max_mfp_bytes},
                  decisions_.batches(), decisions_.pool(), clock, page) {}

    bool try_take(const exchange::MepView& mep) noexcept override { return merger_.try_take(mep); }
    bool try_give_back(std::uint32_t& slot) noexcept override { return merger_.try_give_back(slot); }
    /// is_drained() is called after the builder's thread has ended, so the calling thread merges the packets left.
    pipeline::ChainPart part() override {
        return {decisions_.stages([this] {
                    return merger_.try_complete() &&
                           decisions_.has_decided(merger_.counters()[events::BuildCounter::batches_out]);
                }),
                node_.threads, node_.wait};
    }

  private:
    const NodeConfig node_;
    RichDecisions decisions_;
    MepMerger merger_;
};

}  // namespace

pipeline::MakeExchangeInput make_input(const FarmConfig& config) {
    return [config](const exchange::ExchangeConfig& farm, exchange::MfpRing& ring, const Clock& clock,
                    CounterPage& page) { return std::make_unique<Input>(config, farm, ring, clock, page); };
}

pipeline::MakeExchangeOutput make_output(const FarmConfig& config) {
    return [config](const exchange::ExchangeConfig& farm, const Clock& clock, CounterPage& page) {
        return std::make_unique<Output>(config, farm, clock, page);
    };
}

}  // namespace anello::rich
