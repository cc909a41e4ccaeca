// SPDX-License-Identifier: Apache-2.0
#include "exchange/mep_reader.hpp"

namespace anello::exchange {

void MepReader::open(const MepView& mep) noexcept {
    mep_ = mep;
    next_place_ = 0;
    counters_.add(UnpackCounter::meps);
    counters_.add(UnpackCounter::places, mep.n_events);
    for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
        Readout& readout = readouts_[i];
        readout.fragments.reset();
        // The builder has checked header and tables; parse() only makes the view of them.
        if (!mep.mfps[i].empty() && wire::mfp::parse(mep.mfps[i], readout.packet) == wire::Verdict::ok)
            readout.fragments.emplace(readout.packet);
    }
}

}  // namespace anello::exchange
