// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/dispatch.hpp"

#include <fmt/format.h>

#include <utility>

namespace anello::camera {

CameraDispatch::CameraDispatch(const CameraOutletConfig& config, CompressionChoices& choices, KeptEvents& kept,
                               const CameraShape& shape, const Clock& clock, CounterPage& page)
    : config_(config), choices_(choices), kept_(kept), clock_(clock) {
    if (!config_.file.empty())
        writer_ = std::make_unique<CameraWriter>(
            CameraWriterConfig{.path = config_.file, .rules = config_.rules, .table = config_.table(shape)}, page);
    if (!config_.stream.host.empty()) stream_ = std::make_unique<CameraStream>(config_.stream, clock_, page);
    if (!config_.r1_connections.empty()) r1_ = std::make_unique<R1Streams>(config_.r1_connections, clock_, page);
    if (config_.publish.is_on())
        publisher_ = std::make_unique<publish::RecordPublisher<CameraEventRecord>>(
            config_.publish,
            CameraEventRecord(shape, config_.integrate ? std::optional(config_.pixels()) : std::nullopt,
                              config_.published),
            clock_, page);
    if (!config_.encodes()) return;
    compressed_ = page.add_block<CompressCounter>("compress");
    if (config_.compresses_aside()) return;
    encoder_ = std::make_unique<EventEncoder>(config_.encoding(shape), shape);
    encoded_.resize(encoder_->max_bytes());
}

pipeline::Stage CameraDispatch::stage() {
    return {.name = "send",
            .do_work = [this](std::uint32_t) { return do_work(); },
            .has_input = [this](std::uint32_t) { return !kept_.is_empty(); },
            .longest_wait_ns = [this](std::uint32_t) { return longest_wait_ns(); },
            .drain = [this] { draining_.store(true, std::memory_order_release); },      // pairs with do_work()
            .is_drained = [this] { return drained_.load(std::memory_order_acquire); },  // pairs with do_work()
            .give_up_subscribers =
                [this] {
                    if (publisher_ != nullptr) publisher_->publisher().give_up();
                },
            .close = [this] { close(); },
            .add_notices = [this](pipeline::Notices& lines) { pipeline::append(notices(), lines); },
            .add_states = [this](pipeline::States& states) { states["send"] = describe(); }};
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t CameraDispatch::do_work() noexcept {
    const bool draining = draining_.load(std::memory_order_acquire);  // pairs with the stage's drain
    if (writer_ != nullptr) writer_->save(clock_.monotonic_ns());
    const std::size_t n_sent = send_events();
    const bool streamed = (stream_ != nullptr && stream_->do_work() > 0) | (r1_ != nullptr && r1_->do_work() > 0);
    const bool waits_for_receiver = (stream_ != nullptr && stream_->is_connected() && !stream_->is_drained()) ||
                                    (r1_ != nullptr && r1_->is_waiting());
    if (n_sent == 0 && draining && event_ == nullptr && kept_.is_empty() && !waits_for_receiver)
        drained_.store(true, std::memory_order_release);  // pairs with the stage's is_drained
    return n_sent + (streamed ? 1 : 0);
}

/// Receivers and subscribers do not report when they have room, so the stage must look again soon.
Nanoseconds CameraDispatch::longest_wait_ns() const noexcept {
    return stream_ != nullptr || r1_ != nullptr || event_ != nullptr ? usual_wait_ns : longest_idle_ns;
}

std::size_t CameraDispatch::send_events() noexcept {
    std::size_t n_sent = 0;
    for (; n_sent < config_.max_events_per_step; ++n_sent) {
        if (event_ == nullptr) {
            event_ = kept_.try_take();
            if (event_ == nullptr) break;
            take(*event_);
        }
        if (!try_publish()) break;
        event_->sent_ns = clock_.wall_ns();
        kept_.give_back(*std::exchange(event_, nullptr));
    }
    return n_sent;
}

bool CameraDispatch::try_publish() noexcept {
    return publisher_ == nullptr || publisher_->try_publish(event_->event, event_->pixels, event_->verdict);
}

void CameraDispatch::take(KeptEvent& kept) noexcept {
    if (!compressed_) return;
    if (encoder_ != nullptr) kept.encoded = encoder_->encode(choices_, true, kept.event, encoded_);
    kept.encoded.count(*compressed_);
    if (kept.encoded.is_empty()) return;
    if (writer_ != nullptr) writer_->write(kept.event, kept.verdict, kept.encoded);
    if (stream_ != nullptr) stream_->offer(kept.encoded.record);
    if (r1_ != nullptr) r1_->offer(kept.encoded.record);
}

/// Called after the thread has stopped: discards events that wait for a receiver, and closes the file.
void CameraDispatch::close() {
    if (publisher_ != nullptr) publisher_->publisher().close();
    if (stream_ != nullptr) stream_->close();
    if (r1_ != nullptr) r1_->close();
    if (writer_ != nullptr && !writer_->close()) store_error_ = writer_->last_error();
}

pipeline::Notices CameraDispatch::notices() {
    using enum CameraStreamCounter;
    pipeline::Notices lines;
    if (std::string news = writer_ != nullptr ? writer_->take_news() : ""; !news.empty())
        lines.push_back({std::move(news), Severity::bad});
    if (!store_error_.empty())
        lines.push_back({fmt::format("the file {} is not complete: {}", config_.file, std::exchange(store_error_, {})),
                         Severity::bad});
    if (publisher_ != nullptr) pipeline::append(publisher_->publisher().notices(), lines);
    if (r1_ != nullptr) r1_->add_notices(lines);
    if (stream_ == nullptr) return lines;
    const auto& counters = stream_->counters();
    const auto tell = [&](pipeline::AddedNotice& drops, std::uint64_t n_so_far, const char* cause) {
        if (const std::uint64_t n = drops.added(n_so_far); n > 0)
            lines.push_back(fmt::format("the stream to {}:{} dropped {} events: {}", config_.stream.host,
                                        config_.stream.port, n, cause));
    };
    tell(drops_queue_full_, counters[dropped_queue_full], "its receiver is slower than they come");
    tell(drops_not_connected_, counters[dropped_not_connected], "nobody receives there");
    return lines;
}

std::string CameraDispatch::describe() const {
    std::string words;
    const auto add = [&words](const std::string& more) { words += words.empty() ? more : ", " + more; };
    const std::string refusal = writer_ != nullptr ? writer_->refusal() : "";
    if (writer_ != nullptr) add(refusal.empty() ? fmt::format("into {}", config_.file) : refusal);
    if (stream_ != nullptr) add(fmt::format("to {}:{}", config_.stream.host, config_.stream.port));
    if (r1_ != nullptr) add(fmt::format("to {} writers of R1v1 files", r1_->size()));
    if (publisher_ != nullptr) add(publisher_->publisher().describe());
    if (const std::string chosen = choices_.describe(); !chosen.empty()) add(chosen);
    return words;
}

}  // namespace anello::camera
