// SPDX-License-Identifier: Apache-2.0
#include "source/fault_injector.hpp"

#include "core/errors.hpp"
#include "source/config_check.hpp"

namespace anello::source {

void FaultsConfig::validate(std::uint32_t n_boards) const {
    check_range("faults.loss", loss, 0, 1);
    check_range("faults.duplicate", duplicate, 0, 1);
    check_range("faults.reorder", reorder, 0, 1);
    check_range("faults.corrupt", corrupt, 0, 1);
    check_range("faults.truncate", truncate, 0, 1);
    check_range("faults, all shares together", loss + duplicate + reorder + corrupt + truncate, 0, 1);
    check_range("faults.dead_board", dead_board, -1, static_cast<std::int32_t>(n_boards) - 1);
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
