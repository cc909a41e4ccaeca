// SPDX-License-Identifier: Apache-2.0
#include "publish/mep_publisher.hpp"

#include "core/assert.hpp"
#include "wire/mfp.hpp"

namespace anello::publish {
namespace {

constexpr std::size_t n_arrays = 8;

constexpr std::size_t padded(std::size_t n_bytes) noexcept {
    return wire::mfp::round_up(n_bytes, record_alignment);
}

}  // namespace

MepRecord::MepRecord(std::uint32_t n_readouts, std::size_t max_mfp_bytes, std::uint32_t run_id)
    : max_mfp_bytes_(max_mfp_bytes),
      run_id_(run_id),
      writer_(RecordKind::mep, n_arrays, 2 * std::size_t{n_readouts}),
      offset_(n_readouts),
      length_(n_readouts) {}

std::size_t MepRecord::largest_bytes() const noexcept {
    return largest_record_bytes(n_arrays, offset_.size() * (padded(max_mfp_bytes_) + 8 + 4));
}

void MepRecord::fill(const exchange::MepView& mep) noexcept {
    ANELLO_ASSERT(mep.mfps.size() == offset_.size());
    std::size_t end = 0;
    for (std::size_t i = 0; i < mep.mfps.size(); ++i) {
        offset_[i] = end;
        length_[i] = static_cast<std::uint32_t>(mep.mfps[i].size());
        end += padded(mep.mfps[i].size());
    }
    writer_.begin(run_id_);
    writer_.add_value("mep", mep.mep);
    writer_.add_value("first_event", mep.first_event);
    writer_.add_value("n_events", mep.n_events);
    writer_.add_value("n_missing", mep.n_missing);
    writer_.add_value("built_ns", mep.built_ns);
    writer_.add_array("mfp_offset", std::span<const std::uint64_t>(offset_));
    writer_.add_array("mfp_bytes", std::span<const std::uint32_t>(length_));
    writer_.open("mfps", ArrayType::u8, {static_cast<std::uint32_t>(end)});
    for (const std::span<const std::byte> mfp : mep.mfps) {
        writer_.add_bytes(mfp);
        writer_.add_zeros(padded(mfp.size()) - mfp.size());
    }
    writer_.close();
    outgoing_ = writer_.finish();
}

// Hot path: no allocation, no lock, no log, no throw.
bool MepPublisher::try_take(const exchange::MepView& mep) noexcept {
    if (!is_published_) is_published_ = published_.try_publish(mep);
    if (!is_published_ || !behind_->try_take(mep)) return false;
    is_published_ = false;
    return true;
}

void MepPublisher::close() noexcept {
    publisher().close();
    behind_->close();
}

Notices MepPublisher::notices() {
    Notices lines = publisher().notices();
    for (Notice& line : behind_->notices()) lines.push_back(std::move(line));
    return lines;
}

}  // namespace anello::publish
