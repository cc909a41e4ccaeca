// SPDX-License-Identifier: Apache-2.0
#include "simulate/farm/recording_sink.hpp"

#include <algorithm>

#include "wire/crc32c.hpp"
#include "wire/mfp.hpp"
#include "wire/payload_pattern.hpp"

namespace anello::simulate {

bool RecordingSink::try_take(const exchange::MepView& mep) noexcept {
    const Nanoseconds now_ns = world_.monotonic_ns();
    if (now_ns < full_until_ns_ || (behind_ && !behind_->try_take(mep))) return false;
    Built built{.mep = mep.mep, .at_ns = now_ns, .n_missing = mep.n_missing, .missing = {}, .wrong = {}, .checksum = 0};
    for (std::size_t source = 0; source < mep.mfps.size() && config_.is_judged; ++source) {
        if (mep.mfps[source].empty())
            built.missing.push_back(static_cast<std::uint16_t>(source));
        else if (const char* wrong = what_is_wrong_with(mep, source); wrong != nullptr)
            built.wrong = wrong;
    }
    Held held{.slot = mep.slot, .index = built_.size(), .is_behind = behind_ != nullptr, .mfps = {}};
    if (config_.is_judged) held.mfps.assign(mep.mfps.begin(), mep.mfps.end());
    held.checksum = built.checksum = checksum_of(held, config_.is_carried);
    const auto longest_ns = static_cast<double>(config_.holds_ns);
    held.until_ns = now_ns + static_cast<Nanoseconds>(random_.uniform(0, 1) * longest_ns);
    held_.push_back(std::move(held));
    built_.push_back(std::move(built));
    return true;
}

bool RecordingSink::try_give_back(std::uint32_t& slot) noexcept {
    const Nanoseconds now_ns = world_.monotonic_ns();
    for (std::uint32_t back = 0; behind_ && behind_->try_give_back(back);)
        std::ranges::find(held_, back, &Held::slot)->is_behind = false;
    const auto held =
        std::ranges::find_if(held_, [=](const Held& one) { return one.until_ns <= now_ns && !one.is_behind; });
    if (held == held_.end()) return false;
    if (checksum_of(*held, config_.is_carried) != held->checksum)
        built_[held->index].wrong = "it changed after it was handed on";
    slot = held->slot;
    held_.erase(held);
    return true;
}

const char* RecordingSink::what_is_wrong_with(const exchange::MepView& mep, std::size_t source) const noexcept {
    wire::mfp::PacketView view;
    const wire::Verdict verdict = config_.is_carried ? wire::mfp::parse(mep.mfps[source], view)
                                                     : wire::mfp::parse_header(mep.mfps[source], view.header);
    if (verdict != wire::Verdict::ok) return "a part is no packet";
    const wire::mfp::Header& header = view.header;
    if (header.source_id != source) return "a part is of another source";
    if (header.run_id != config_.run_id) return "a part is of another run";
    if (header.n_fragments != config_.packing || header.first_event != mep.mep * config_.packing)
        return "a part is of other events";
    if (!config_.is_carried) return nullptr;
    wire::mfp::FragmentReader reader(view);
    std::span<const std::byte> fragment;
    for (std::uint64_t event = header.first_event; reader.next(fragment); ++event) {
        if (reader.verify() != wire::Verdict::ok) return "the bytes of a fragment are not those that were sent";
        const auto number = static_cast<std::uint32_t>(event);
        if (config_.is_fresh && !wire::has_pattern(fragment, header.source_id, number))
            return "a fragment is of another event";
    }
    return nullptr;
}

std::uint32_t RecordingSink::checksum_of(const Held& held, bool of_all) noexcept {
    std::uint32_t checksum = 0;
    for (const auto& mfp : held.mfps) {
        const std::size_t n_bytes = of_all ? mfp.size() : std::min(mfp.size(), wire::mfp::header_bytes);
        checksum = wire::crc32c(mfp.first(n_bytes), checksum);
    }
    return checksum;
}

}  // namespace anello::simulate
