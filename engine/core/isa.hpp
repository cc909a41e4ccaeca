// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/words.hpp"

namespace anello {

/// Instruction sets for which kernels are compiled.
enum class Isa : std::uint8_t { automatic, scalar, sse42, avx2, avx512 };

template <>
inline constexpr std::array<const char*, 5> words_of<Isa>{"automatic", "scalar", "sse42", "avx2", "avx512"};

std::string_view name_of(Isa isa) noexcept;
/// True if this processor can run it.
bool is_available(Isa isa) noexcept;

}  // namespace anello
