// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "receive/fragment_block.hpp"
#include "receive/withdrawable_ring.hpp"

namespace anello::receive {

/// Carries full buffers forward.
using CompletionRing = WithdrawableRing<Completion>;

}  // namespace anello::receive
