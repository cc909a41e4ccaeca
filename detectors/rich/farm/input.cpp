// SPDX-License-Identifier: Apache-2.0
#include "rich/farm/input.hpp"

#include <utility>

namespace anello::rich {

RichInput::RichInput(const NodeConfig& node, const RichFrames& frames, const exchange::ExchangeConfig& exchange,
                     exchange::MfpRing& ring, const Clock& clock, CounterPage& page)
    : node_(node),
      boards_(node.intake, node.build.first_board, clock, page),
      framer_({.frames = frames,
               .boards = boards_.complete(node.build),
               .source_id = exchange.farm.readout_of[exchange.self],
               .run_id = exchange.run_id},
              boards_.blocks(), ring, clock, page) {}

pipeline::ChainPart RichInput::part() {
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

}  // namespace anello::rich
