// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "receive/boards/fragment_block.hpp"
#include "receive/boards/withdrawable_ring.hpp"

namespace anello::receive {

/// Carries full buffers to the builder.
using CompletionRing = WithdrawableRing<Completion>;

}  // namespace anello::receive
