// SPDX-License-Identifier: Apache-2.0
#include "km3net/slices/dom_watch.hpp"

#include <fmt/format.h>

#include "pipeline/intake.hpp"

namespace anello::km3net {

void DomWatch::add_notices(pipeline::Notices& notices) {
    for (std::uint32_t dom = 0; dom < seen_.size(); ++dom) {
        const std::uint32_t number = builder_.config().first_dom + dom;
        const auto& counters = builder_.dom_counters(dom);
        const std::uint64_t n_silences = counters[DomCounter::silences];
        seen_[dom].silence.look(number, n_silences > 0 && builder_.is_silent(dom), n_silences,
                                builder_.config().max_lag_slices * slice_ns, notices);
        seen_[dom].speakers.look(number, counters[DomCounter::strangers], builder_.speakers(dom), notices);
        if (const auto n = counters[DomCounter::ahead]; seen_[dom].ahead.is_due(n))
            notices.push_back(pipeline::ahead_words(number, n));
        if (const auto n = counters[DomCounter::no_clock]; seen_[dom].no_clock.is_due(n))
            notices.push_back(
                fmt::format("board {}: its clock is not valid: {} datagrams so far are not used, as their times mean "
                            "nothing; look at its White Rabbit link",
                            number, n));
        if (const auto n = counters[DomCounter::other_run]; seen_[dom].other_run.is_due(n))
            notices.push_back(
                fmt::format("board {}: {} datagrams so far of another run are not used; reset it", number, n));
    }
}

void DomWatch::add_states(pipeline::States& states) const {
    for (std::uint32_t dom = 0; dom < seen_.size(); ++dom)
        states[fmt::format("board{}", builder_.config().first_dom + dom)] = builder_.is_silent(dom) ? "silent" : "live";
    states["memory"] = pipeline::memory_words(builder_.store().buffers());
}

}  // namespace anello::km3net
