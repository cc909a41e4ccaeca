// SPDX-License-Identifier: Apache-2.0
#include "fabric/ucx/ucx_log.hpp"

#include <ucs/debug/log_def.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace anello::fabric {
namespace {

std::array<char, 512>& last_words() noexcept {
    static thread_local std::array<char, 512> words{};
    return words;
}

}  // namespace

struct UcxLogHandler {
    static ucs_log_func_rc_t handle(const char*, unsigned, const char*, ucs_log_level_t level,
                                    const ucs_log_component_config_t*, const char* format, va_list arguments) {
        if (QuietUcx::depth() == 0 || level < UCS_LOG_LEVEL_ERROR) return UCS_LOG_FUNC_RC_CONTINUE;
        if (level <= UCS_LOG_LEVEL_WARN) std::vsnprintf(last_words().data(), last_words().size(), format, arguments);
        return UCS_LOG_FUNC_RC_STOP;
    }
};

void QuietUcx::install() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (std::getenv("UCX_LOG_LEVEL") == nullptr) ucs_log_push_handler(&UcxLogHandler::handle);
    });
}

std::string QuietUcx::take_last_words() {
    const std::string words = last_words().data();
    last_words()[0] = '\0';
    return words;
}

}  // namespace anello::fabric
