// SPDX-License-Identifier: Apache-2.0
#include "rich/emit/primitive_checker.hpp"

#include <utility>

#include "wire/crc32c.hpp"

namespace anello::rich {

PrimitiveChecker::PrimitiveChecker(const wire::KnownSources& known, CounterPage& page, const std::string& block_name,
                                   PrimitiveObserver* observer)
    : known_(known),
      counters_(page.add_block<ListenCounter>(block_name)),
      verdicts_(page.add_block<wire::Verdict>(block_name + ".verdicts")),
      observer_(observer) {}

void PrimitiveChecker::check(std::span<const std::byte> datagram) noexcept {
    counters_.add(ListenCounter::datagrams);
    counters_.add(ListenCounter::bytes, datagram.size());
    wire::mtp::PacketView packet;
    const wire::Verdict verdict = wire::mtp::parse(datagram, known_, packet);
    verdicts_.add(verdict);
    if (verdict != wire::Verdict::ok) return;
    follow(packet.header.frame, wire::crc32c(datagram));
    counters_.add(ListenCounter::frames);
    counters_.add(ListenCounter::primitives, packet.header.n_primitives);
    if (packet.header.n_primitives == 0) counters_.add(ListenCounter::frames_empty);
    if (observer_ == nullptr) return;
    wire::mtp::PrimitiveReader reader(packet);
    for (wire::mtp::Primitive primitive; reader.next(primitive);) observer_->on_primitive(burst_, primitive);
}

void PrimitiveChecker::follow(std::uint32_t frame, std::uint32_t content) noexcept {
    const std::int32_t step = static_cast<std::int32_t>((frame - next_frame_) << 8) >> 8;  // frame numbers have 24 bits
    const bool is_another = std::exchange(last_content_, content) != content;
    if (!started_ || step < -reorder_frames || (frame == 0 && (step < -1 || (step < 0 && is_another))))
        return begin_burst(frame);
    if (step < 0) return counters_.add(ListenCounter::frames_out_of_order);
    counters_.add(ListenCounter::frames_missing, static_cast<std::uint32_t>(step));
    next_frame_ = frame + 1;
}

void PrimitiveChecker::begin_burst(std::uint32_t frame) noexcept {
    if (started_) ++burst_;
    started_ = true;
    counters_.add(ListenCounter::bursts);
    counters_.add(ListenCounter::frames_missing, frame);
    next_frame_ = frame + 1;
}

}  // namespace anello::rich
