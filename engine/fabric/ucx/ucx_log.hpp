// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace anello::fabric {

/// While one of these exists, UCX's messages on this thread are kept instead of printed: the loss of a peer is
/// counted and reported here, and set-up errors quote UCX's own text. With UCX_LOG_LEVEL set, UCX prints as usual.
class QuietUcx {
  public:
    QuietUcx() noexcept { ++depth(); }
    ~QuietUcx() { --depth(); }
    QuietUcx(const QuietUcx&) = delete;
    QuietUcx& operator=(const QuietUcx&) = delete;

    static void install();                 ///< Once per process; further calls do nothing.
    static std::string take_last_words();  ///< The latest warning or error kept on this thread, and forgets it.

  private:
    static int& depth() noexcept {
        static thread_local int depth = 0;
        return depth;
    }
    friend struct UcxLogHandler;
};

}  // namespace anello::fabric
