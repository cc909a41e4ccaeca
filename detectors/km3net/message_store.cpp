// SPDX-License-Identifier: Apache-2.0
#include "km3net/message_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/errors.hpp"

namespace anello::km3net {

using C = MessageCounter;

MessageStore::MessageStore(const MessageStoreConfig& config, CounterPage& page)
    : config_(config),
      counters_(page.add_block<C>("store")),
      buffers_({.n_buffers = config.n_buffers, .buffer_bytes = config.buffer_bytes}),
      full_(config.n_buffers),
      first_slice_(config.first_slice) {
    file_ = open(config.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0) throw SystemError("cannot create " + config.path, errno, "Check the directory and its permissions.");
}

MessageStore::~MessageStore() {
    close(file_);
}

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
    full_.try_give(full_now_);  // has a place for each
    is_begun_ = false;
    n_given_.fetch_add(1, std::memory_order_release);  // pairs with is_drained
}

std::size_t MessageStore::work() noexcept {
    Full full{};
    if (!full_.try_take(full)) return 0;
    const bool is_written = try_write(buffers_.bytes(full.buffer).first(full.n_bytes));
    buffers_.give_back(full.buffer);
    counters_.add(is_written ? C::written : C::lost, full.n_messages);
    counters_.add(C::without_room, full.n_without_room);
    n_done_.fetch_add(1, std::memory_order_release);  // pairs with is_drained
    return 1;
}

/// All or nothing: what a full disk took of it is taken back.
bool MessageStore::try_write(std::span<const std::byte> bytes) noexcept {
    for (std::size_t n_written = 0; n_written < bytes.size();) {
        const ssize_t n = ::write(file_, bytes.data() + n_written, bytes.size() - n_written);
        if (n >= 0) {
            n_written += static_cast<std::size_t>(n);
        } else if (errno != EINTR) {
            error_.store(errno, std::memory_order_relaxed);
            const auto end = static_cast<off_t>(counters_[C::bytes_written]);
            if (ftruncate(file_, end) == 0) lseek(file_, end, SEEK_SET);
            return false;
        }
    }
    counters_.add(C::bytes_written, bytes.size());
    return true;
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
            .add_notices = [this](pipeline::Notices& notices) { add_notices(notices); }};
}

void MessageStore::add_notices(pipeline::Notices& notices) {
    if (const int error = error_.exchange(0, std::memory_order_relaxed); error != 0)
        notices.push_back(fmt::format("cannot write {}: {}; {} messages are lost", config_.path,
                                      std::generic_category().message(error), counters_[C::lost]));
}

}  // namespace anello::km3net
