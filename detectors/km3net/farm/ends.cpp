// SPDX-License-Identifier: Apache-2.0
#include "km3net/farm/ends.hpp"

#include <utility>

#include "km3net/farm/packer.hpp"
#include "km3net/farm/unpacker.hpp"
#include "pipeline/intake.hpp"

namespace anello::km3net {
namespace {

std::uint32_t n_readouts_of(const exchange::ExchangeConfig& farm) {
    return static_cast<std::uint32_t>(farm.farm.readouts.size());
}

DomRange own_doms(const FarmConfig& config, const exchange::ExchangeConfig& farm) {
    return doms_of(farm.farm.readout_of[farm.self], n_readouts_of(farm), config.node.line.n_doms);
}

SliceBuilderConfig build_config(const FarmConfig& config, const DomRange& doms) {
    SliceBuilderConfig build = config.node.build;
    build.first_dom = doms.begin;
    return build;
}

SlicePackerConfig packer_config(const FarmConfig& config, const exchange::ExchangeConfig& farm) {
    return {.mfp = exchange::MfpPackerConfig::of(farm),
            .detector = config.node.line.detector_id,
            .first_slice = config.first_slice,
            .n_slices = config.node.n_slices,
            .patience_ns = farm.timeout_ns};
}

/// The stage receive, which also packs the slices that it has built.
class Input final : public pipeline::ExchangeInput {
  public:
    Input(const FarmConfig& config, const exchange::ExchangeConfig& farm, exchange::MfpRing& ring, const Clock& clock,
          CounterPage& page)
        : threads_(config.node.threads),
          wait_(config.node.wait),
          line_(make_line(config.node.line)),
          range_(own_doms(config, farm)),
          boards_(config.node.backend, build_config(config, range_), doms(), clock, page),
          packer_(packer_config(config, farm), doms(), boards_.slices(), ring, clock, page) {}

    std::vector<std::uint16_t> ports() const override { return boards_.intake().ports(); }
    pipeline::ChainPart part() override {
        pipeline::Stage receive = boards_.stage();
        receive.do_work = [this, build = std::move(receive.do_work)](std::uint32_t lane) {
            const std::size_t n_built = build(lane);
            return n_built + packer_.do_work() * pipeline::rest_below_datagrams;
        };
        receive.drain = [this, drain = std::move(receive.drain)] {
            packer_.discard();
            drain();
        };
        receive.is_drained = [this, is_drained = std::move(receive.is_drained)] {
            return is_drained() && packer_.is_drained();
        };
        return {{std::move(receive)}, threads_, wait_};
    }

  private:
    std::span<const Dom> doms() const noexcept {
        return std::span(line_).subspan(range_.begin, range_.end - range_.begin);
    }

    const std::vector<pipeline::ThreadPlan> threads_;
    const WaitPolicy wait_;
    const std::vector<Dom> line_;
    const DomRange range_;
    Boards boards_;
    SlicePacker packer_;
};

/// The stages trigger and store. They follow the builder's thread, which unpacks slices for them.
class Output final : public pipeline::ExchangeOutput {
  public:
    Output(const FarmConfig& config, const exchange::ExchangeConfig& farm, const Clock& clock, CounterPage& page)
        : threads_(config.node.threads),
          wait_(config.node.wait),
          line_(make_line(config.node.line)),
          slices_(config.node.build.store, config.node.line.n_doms),
          unpacker_({n_readouts_of(farm), config.node.build.run, config.first_slice}, line_, slices_, clock, page),
          decisions_(decisions_config(config), line_, slices_, clock, page) {}

    bool try_take(const exchange::MepView& mep) noexcept override { return unpacker_.try_take(mep); }
    bool try_give_back(std::uint32_t& slot) noexcept override { return unpacker_.try_give_back(slot); }
    /// is_drained() is called after the builder's thread has ended, so the calling thread unpacks the packets left.
    pipeline::ChainPart part() override {
        std::vector<pipeline::Stage> stages = decisions_.stages();
        stages.front().is_drained = [this, is_drained = std::move(stages.front().is_drained)] {
            return unpacker_.try_complete() && is_drained();
        };
        return {std::move(stages), threads_, wait_};
    }

  private:
    /// Sets first_slice, so that frame_index counts from the same slice in the files of all builders.
    static DecisionsConfig decisions_config(const FarmConfig& config) {
        DecisionsConfig decisions = config.node.decisions;
        decisions.store.first_slice = config.first_slice;
        return decisions;
    }

    const std::vector<pipeline::ThreadPlan> threads_;
    const WaitPolicy wait_;
    const std::vector<Dom> line_;
    SliceStore slices_;
    SliceUnpacker unpacker_;
    Decisions decisions_;
};

}  // namespace

std::size_t max_mfp_bytes(const FarmConfig& config, std::size_t n_readouts, std::uint32_t packing) {
    const auto n = static_cast<std::uint32_t>(std::max<std::size_t>(1, n_readouts));
    const std::size_t most_doms = (config.node.line.n_doms + n - 1) / n;
    return exchange::MfpPackerConfig{.packing = packing}.max_mfp_bytes(
        max_part_bytes(most_doms, config.node.build.store.max_hits));
}

pipeline::MakeExchangeInput make_input(const FarmConfig& config) {
    return [config](const exchange::ExchangeConfig& farm, exchange::MfpRing& ring, const Clock& clock,
                    CounterPage& page) { return std::make_unique<Input>(config, farm, ring, clock, page); };
}

pipeline::MakeExchangeOutput make_output(const FarmConfig& config) {
    return [config](const exchange::ExchangeConfig& farm, const Clock& clock, CounterPage& page) {
        return std::make_unique<Output>(config, farm, clock, page);
    };
}

}  // namespace anello::km3net
