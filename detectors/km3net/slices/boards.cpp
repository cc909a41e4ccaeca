// SPDX-License-Identifier: Apache-2.0
#include "km3net/slices/boards.hpp"

namespace anello::km3net {

pipeline::Stage Boards::stage() {
    pipeline::Stage stage = intake_.stage();
    stage.add_notices = [this](pipeline::Notices& notices) {
        watch_.add_notices(notices);
        intake_.add_notices(notices);
    };
    stage.add_states = [this](pipeline::States& states) {
        watch_.add_states(states);
        intake_.add_states(states);
    };
    stage.add_buffers = [this](pipeline::BufferLevels& levels) { levels["receive"].add(slices().buffers()); };
    return stage;
}

}  // namespace anello::km3net
