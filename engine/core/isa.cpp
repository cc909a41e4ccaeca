// SPDX-License-Identifier: Apache-2.0
#include "core/isa.hpp"

namespace anello {

std::string_view name_of(Isa isa) noexcept {
    return word_of(isa);
}

bool is_available(Isa isa) noexcept {
    switch (isa) {
        case Isa::automatic:
        case Isa::scalar:
            return true;
        case Isa::sse42:
            return __builtin_cpu_supports("sse4.2");
        case Isa::avx2:
            return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        case Isa::avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    return false;
}

}  // namespace anello
