// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "km3net/slices/slice_builder.hpp"
#include "pipeline/told.hpp"

namespace anello::km3net {

/// Makes the notices to the operator about the DOMs. The control thread calls all members.
class DomWatch {
  public:
    explicit DomWatch(const SliceBuilder& builder) : builder_(builder), seen_(builder.n_doms()) {}

    void add_notices(pipeline::Notices& notices);
    void add_states(pipeline::States& states) const;

  private:
    struct Seen {
        pipeline::SilenceNotice silence;
        receive::SpeakerNotices speakers;
        receive::ThrottledNotice ahead, other_run, no_clock;
    };

    const SliceBuilder& builder_;
    std::vector<Seen> seen_;  // state of each DOM at the last call
};

}  // namespace anello::km3net
