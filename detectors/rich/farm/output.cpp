// SPDX-License-Identifier: Apache-2.0
#include "rich/farm/output.hpp"

namespace anello::rich {
namespace {

NodeConfig of_all_boards(NodeConfig node, std::uint32_t n_boards) {
    node.build.n_boards = n_boards;
    node.build.first_board = 0;
    node.emit.max_gap_frames = 1;              // frames without events may be another builder's
    node.publish.block = "publish.decisions";  // built events are published as "publish"
    return node;
}

}  // namespace

RichOutput::RichOutput(const NodeConfig& node, const RichFrames& frames, std::uint32_t n_boards,
                       const exchange::ExchangeConfig& exchange, const Clock& clock, CounterPage& page)
    : node_(of_all_boards(node, n_boards)),
      decisions_(node_, clock, page),
      merger_({.frames = frames, .build = node_.build, .max_mfp_bytes = exchange.max_mfp_bytes}, decisions_.batches(),
              decisions_.pool(), clock, page) {}

/// The builder's thread has ended when it is asked whether all is decided: what it left is merged by who asks.
pipeline::ChainPart RichOutput::part() {
    return {decisions_.stages([this] {
                return merger_.try_complete() &&
                       decisions_.has_decided(merger_.counters()[events::BuildCounter::batches_out]);
            }),
            node_.threads, node_.wait};
}

bool RichOutput::try_take(const exchange::MepView& mep) noexcept {
    if (holds_slot_ || !merger_.try_complete()) return false;
    merger_.begin(mep);
    slot_ = mep.slot;
    holds_slot_ = true;
    merger_.try_complete();
    return true;
}

/// Hits are copied when a packet is merged: its slot is free before it is decided.
bool RichOutput::try_give_back(std::uint32_t& slot) noexcept {
    if (!holds_slot_ || !merger_.try_complete()) return false;
    slot = slot_;
    holds_slot_ = false;
    return true;
}

}  // namespace anello::rich
