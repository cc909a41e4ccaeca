// SPDX-License-Identifier: Apache-2.0
#include "exchange/messages/protocol.hpp"

namespace anello::exchange {

const char* name_of(Protocol protocol) noexcept {
    return word_of(protocol);
}

}  // namespace anello::exchange
