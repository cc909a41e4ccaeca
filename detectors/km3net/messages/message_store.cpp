// SPDX-License-Identifier: Apache-2.0
#include "km3net/messages/message_store.hpp"

#include <string>
#include <utility>

namespace anello::km3net {

MessageStore::MessageStore(const MessageStoreConfig& config, CounterPage& page)
    : config_(config),
      counters_(page.add_block<MessageCounter>("store")),
      file_(config.path, config.rules),
      buffers_({.n_buffers = config.n_buffers, .buffer_bytes = config.buffer_bytes}),
      full_(config.n_buffers),
      first_slice_(config.first_slice) {}

// Hot path: no allocation, no lock, no log, no throw.
void MessageStore::write(const Slice& slice, const daq::LookedAt& looked_at, std::span<const L1Hit> l1) noexcept {
    if (first_slice_ == 0 || (config_.first_slice == 0 && slice.run != origin_.run)) {
        first_slice_ = slice.number;
        n_events_ = 0;
    }
    origin_ = {config_.detector, slice.run, static_cast<std::uint32_t>(slice.number - first_slice_), slice.number};
    writer_ = daq::Writer(buffers_.bytes(buffer_));
    full_now_ = {buffer_, 0, 0, 0};
    count(daq::write_summary(writer_, origin_, looked_at));
    count(daq::write_l1_slice(writer_, origin_, looked_at, l1));
}

void MessageStore::add_event(const daq::LookedAt& looked_at, daq::Event event) noexcept {
    event.number = n_events_++;
    count(daq::write_event(writer_, origin_, looked_at, event));
}

void MessageStore::hand_over() noexcept {
    full_now_.n_bytes = writer_.bytes().size();
    full_.try_give(full_now_);  // never fails: the ring has a place for each buffer
    is_begun_ = false;
    n_given_.fetch_add(1, std::memory_order_release);  // pairs with is_drained
}

std::size_t MessageStore::work() noexcept {
    Full full{};
    if (!full_.try_take(full)) return 0;
    const std::span<std::byte> bytes = buffers_.bytes(full.buffer).first(full.n_bytes);
    iovec all{bytes.data(), bytes.size()};
    const bool is_written = file_.try_write({&all, 1});
    buffers_.give_back(full.buffer);
    counters_.add(is_written ? MessageCounter::written : MessageCounter::lost, full.n_messages);
    counters_.add(MessageCounter::without_room, full.n_without_room);
    counters_.set(MessageCounter::bytes_written, file_.length_bytes());
    counters_.set(MessageCounter::refusing, is_written ? 0 : 1);
    n_done_.fetch_add(1, std::memory_order_release);  // pairs with is_drained
    return 1;
}

pipeline::Stage MessageStore::stage() {
    return {.name = "store",
            .do_work = [this](std::uint32_t) { return work(); },
            .has_input = [this](std::uint32_t) { return full_.size() > 0; },
            .longest_wait_ns = pipeline::no_timers,
            .is_drained =
                [this] {
                    const std::uint64_t n_given = n_given_.load(std::memory_order_acquire);  // pairs with hand_over
                    return n_done_.load(std::memory_order_acquire) == n_given;               // pairs with work
                },
            .add_notices = [this](pipeline::Notices& notices) { add_notices(notices); },
            .add_states =
                [this](pipeline::States& states) {
                    if (file_.refusal().is_on()) states["store"] = file_.refusal().state(config_.path);
                }};
}

void MessageStore::add_notices(pipeline::Notices& notices) {
    const std::string cost = std::to_string(counters_[MessageCounter::lost]) + " messages are lost";
    if (std::string news = file_.refusal().take_news(config_.path, cost); !news.empty())
        notices.push_back({std::move(news), Severity::bad});
}

}  // namespace anello::km3net
