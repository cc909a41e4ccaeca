// SPDX-License-Identifier: Apache-2.0
#include "exchange/builder/mfp_check.hpp"

#include <algorithm>

#include "source/random.hpp"

namespace anello::exchange {

BuilderCounter MfpCheck::outcome_of(std::uint16_t readout, std::uint64_t mep, std::span<const std::byte> bytes,
                                    wire::mfp::PacketView& view) noexcept {
    const wire::Verdict verdict = wire::mfp::parse(bytes, view);
    verdicts_.add(verdict);
    if (verdict != wire::Verdict::ok) return BuilderCounter::mfps_malformed;
    const wire::mfp::Header& header = view.header;
    const bool is_right = header.source_id == readout && header.run_id == run_id_ && header.n_fragments == packing_ &&
                          header.first_event == mep * packing_;
    return is_right ? BuilderCounter::mfps_received : BuilderCounter::mfps_wrong;
}

/// PERF NOTE: checks neighbouring fragments, from a varying start: to find a fragment, all sizes before it are summed.
void MfpCheck::verify_share(const wire::mfp::PacketView& view, std::uint64_t mep) noexcept {
    const std::size_t n_fragments = view.header.n_fragments;
    verify_due_ += verify_share_ * static_cast<double>(n_fragments);
    const auto n = std::min(static_cast<std::size_t>(verify_due_), n_fragments);
    if (n == 0) return;
    verify_due_ -= static_cast<double>(n);
    const std::uint64_t chance = source::mix64(mep * n_readouts_ + view.header.source_id);
    wire::mfp::FragmentReader reader(view, chance % (n_fragments - n + 1));
    std::span<const std::byte> fragment;
    for (std::size_t i = 0; i < n && reader.next(fragment); ++i)
        counters_.add(reader.verify() == wire::Verdict::ok ? BuilderCounter::fragments_ok
                                                           : BuilderCounter::fragments_wrong_checksum);
    counters_.add(BuilderCounter::fragments_verified, n);
}

}  // namespace anello::exchange
