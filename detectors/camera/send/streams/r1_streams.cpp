// SPDX-License-Identifier: Apache-2.0
#include "camera/send/streams/r1_streams.hpp"

#include <fmt/format.h>

namespace anello::camera {

R1Streams::R1Streams(const std::vector<int>& connections, const Clock& clock, CounterPage& page) {
    for (std::size_t i = 0; i < connections.size(); ++i) {
        streams_.push_back(std::make_unique<CameraStream>(CameraStreamConfig{.connection = connections[i]}, clock, page,
                                                          fmt::format("r1_stream{}", i)));
        writers_.push_back(page.add_block<R1WriterCounter>(fmt::format("r1_writer{}", i)));
    }
}

void R1Streams::offer(std::span<const std::byte> record) noexcept {
    std::size_t chosen = next_;
    for (std::size_t tried = 0; tried < streams_.size(); ++tried) {
        const std::size_t other = (next_ + tried) % streams_.size();
        if (!streams_[other]->has_room_for(record.size())) continue;
        chosen = other;
        break;
    }
    streams_[chosen]->offer(record);
    next_ = (next_ + 1) % streams_.size();
}

std::size_t R1Streams::do_work() noexcept {
    std::size_t n_sent = 0;
    for (const auto& stream : streams_) n_sent += stream->do_work();
    return n_sent;
}

bool R1Streams::is_waiting() const noexcept {
    for (const auto& stream : streams_)
        if (stream->is_connected() && !stream->is_drained()) return true;
    return false;
}

void R1Streams::close() noexcept {
    for (const auto& stream : streams_) stream->close();
}

bool R1Streams::set_of_writer(std::size_t writer, const std::string& name, std::uint64_t value) noexcept {
    if (writer >= writers_.size()) return false;
    const auto& labels = counter_labels<R1WriterCounter>;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (name != labels[i].name) continue;
        writers_[writer].set(static_cast<R1WriterCounter>(i), value);
        return true;
    }
    return false;
}

void R1Streams::add_notices(pipeline::Notices& lines) {
    using enum CameraStreamCounter;
    std::uint64_t n_dropped = 0;
    for (const auto& stream : streams_)
        n_dropped += stream->counters()[dropped_queue_full] + stream->counters()[dropped_not_connected];
    if (const std::uint64_t n = drops_.added(n_dropped); n > 0)
        lines.push_back({fmt::format("{} events are not in R1v1 files: their writers are slower than they come", n),
                         Severity::bad});
}

}  // namespace anello::camera
