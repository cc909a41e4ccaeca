// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace anello::fabric {

/// While one of these lives, what UCX has to say on this thread is kept instead of printed: that a peer went away is
/// counted and reported here, and errors of set-up carry UCX's own words. Set UCX_LOG_LEVEL and UCX prints as ever.
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
