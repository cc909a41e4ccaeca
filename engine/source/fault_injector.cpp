// SPDX-License-Identifier: Apache-2.0
#include "source/fault_injector.hpp"

#include <fmt/format.h>

#include <string>

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace anello::source {

void FaultsConfig::validate(const Keys<FaultsConfig>& keys, std::uint32_t n_boards) const {
    keys.check(*this);
    const std::string section = keys.section;
    const double all = loss + duplicate + reorder + corrupt + truncate;
    if (all > 1)
        throw ConfigError(section + ".loss", "must leave all shares of faults together at 1 at most",
                          fmt::format("{}", all), "A packet suffers one fault at most");
    if (dead_board >= static_cast<std::int32_t>(n_boards))
        throw ConfigError(section + ".dead_board", fmt::format("must be below the number of boards, {}", n_boards),
                          fmt::format("{}", dead_board), "The default is -1");
}

FaultInjector::FaultInjector(const FaultsConfig& config, std::uint64_t seed, std::uint32_t board) noexcept
    : config_(config),
      random_(seed, 0xfa017 + board),
      any_(config.loss + config.duplicate + config.reorder + config.corrupt + config.truncate > 0) {}

Fault FaultInjector::next() noexcept {
    if (!any_) return Fault::none;
    double at = random_.uniform();
    if ((at -= config_.loss) < 0) return Fault::loss;
    if ((at -= config_.duplicate) < 0) return Fault::duplicate;
    if ((at -= config_.reorder) < 0) return Fault::reorder;
    if ((at -= config_.corrupt) < 0) return Fault::corrupt;
    if ((at -= config_.truncate) < 0) return Fault::truncate;
    return Fault::none;
}

void FaultInjector::corrupt(std::span<std::byte> datagram) noexcept {
    std::byte& victim = datagram[random_.below(static_cast<std::uint32_t>(datagram.size()))];
    victim ^= static_cast<std::byte>(1 + random_.below(255));
}

std::size_t FaultInjector::truncated_length(std::size_t length_bytes) noexcept {
    return 1 + random_.below(static_cast<std::uint32_t>(length_bytes) - 1);
}

}  // namespace anello::source
