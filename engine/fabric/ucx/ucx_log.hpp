// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace anello::fabric {

/// While an object of this class exists, UCX's messages on this thread are kept instead of printed: the fabric counts
/// and reports the loss of a peer, and set-up errors quote UCX's own text. If UCX_LOG_LEVEL is set, UCX prints as
/// usual.
class QuietUcx {
  public:
    QuietUcx() noexcept { ++depth(); }
    ~QuietUcx() { --depth(); }
    QuietUcx(const QuietUcx&) = delete;
    QuietUcx& operator=(const QuietUcx&) = delete;

    static void install();                 ///< Called once per process; further calls do nothing.
    static std::string take_last_words();  ///< Returns and forgets the latest warning or error of this thread.

  private:
    static int& depth() noexcept {
        static thread_local int depth = 0;
        return depth;
    }
    friend struct UcxLogHandler;
};

}  // namespace anello::fabric
