// SPDX-License-Identifier: Apache-2.0
#include "camera/events/intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/errors.hpp"
#include "receive/datagrams/socket_backend.hpp"

namespace anello::camera {
namespace {

constexpr Nanoseconds show_backend_every_ns = 100'000'000;  // one system call per port
constexpr std::size_t fair_share_at_least = 16;             // datagrams per port and call, in place

receive::SocketBackend* in_place_backend(const CameraIntakeConfig& config, receive::Backend& backend) {
    if (!config.builder.in_place) return nullptr;
    auto* const sockets = dynamic_cast<receive::SocketBackend*>(&backend);
    if (sockets == nullptr || sockets->socket(0).has_gro())
        throw ConfigError("camera_build.in_place", "needs receive.backend = socket and receive.gro = false", "true",
                          "The kernel cannot split a super-packet into slots.");
    if (config.with_blocks)
        throw ConfigError("camera_build.in_place", "needs receive and build in one thread", "true",
                          "Use the layout receive+build.");
    return sockets;
}

}  // namespace

CameraIntake::CameraIntake(const CameraIntakeConfig& config, std::unique_ptr<receive::Backend> backend,
                           const Clock& clock, CounterPage& page)
    : config_(config),
      backend_(std::move(backend)),
      sockets_(in_place_backend(config, *backend_)),
      clock_(clock),
      builder_(config.builder, clock, page),
      batch_(config.batch_datagrams),
      promised_(config.batch_datagrams),
      ready_(std::max<std::size_t>(1, config.batch_datagrams / fair_share_at_least)),
      times_(*backend_, clock) {
    if (config.batch_datagrams == 0 || config.batch_datagrams > receive::max_batch_datagrams)
        throw ConfigError("receive.batch_datagrams", "must be 1 to 1024", std::to_string(config.batch_datagrams),
                          "64 is enough to hide the system call.");
    const std::size_t n_described = config.builder.stream_boards.size();
    if (n_described != 0 && n_described != backend_->n_streams())
        throw ConfigError("receive.ports", "as many as the backend has streams", std::to_string(n_described),
                          "Say for each port which boards send to it.");
    // With blocks, the thread that reads is not the one that measures.
    if (!config.with_blocks && backend_->set_call_bytes(call_bytes_)) builder_.choice().try_call_sizes();
    if (config.with_blocks) blocks_ = std::make_unique<receive::DatagramBlocks>(config.blocks);
    for (std::size_t i = 0; i < backend_->n_streams(); ++i)
        ports_.push_back(page.add_block<receive::PortCounter>(fmt::format("receive.port{}", config.first_port + i)));
}

// Hot path from here on: no allocation, no lock, no log, no throw.
/// Receives nothing once all blocks have been handed on, as no stage would build later datagrams.
std::size_t CameraIntake::receive_work() noexcept {
    if (phase_.load(std::memory_order_relaxed) >= Phase::draining_build) return 0;
    return blocks_ == nullptr ? receive_and_build() : receive_into_blocks();
}

std::size_t CameraIntake::receive_and_build() noexcept {
    builder_.read_clocks();
    show_backend(builder_.now_ns());
    const bool has_room = builder_.wants(batch_.size());
    const std::size_t n_datagrams = has_room ? read(builder_.now_ns()) : 0;
    const std::size_t n_events = builder_.on_time(times_.until_ns());
    if (has_room && n_datagrams == 0) end_receiving();
    return n_datagrams + n_events;
}

std::size_t CameraIntake::read(Nanoseconds now_ns) noexcept {
    times_.begin(now_ns);
    follow_choice();
    const std::size_t n_datagrams = sockets_ != nullptr ? receive_in_place() : receive();
    times_.end();
    return n_datagrams;
}

/// Sets the size of calls that the builder has found best.
void CameraIntake::follow_choice() noexcept {
    if (blocks_ != nullptr || builder_.choice().call_bytes() == call_bytes_) return;
    call_bytes_ = builder_.choice().call_bytes();
    backend_->set_call_bytes(call_bytes_);
}

std::size_t CameraIntake::receive_into_blocks() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    show_backend(now_ns);
    // With policy drop_new datagrams are read in any case, and dropped if there is no free block.
    const bool has_room = config_.builder.full_policy != receive::FullPolicy::wait || blocks_->has_room(batch_.size());
    const bool was_open = blocks_->has_open();
    const std::uint64_t n_handed_on = blocks_->n_handed_on();
    const Nanoseconds read_until_ns = times_.until_ns();
    const std::size_t n_datagrams = has_room ? read(now_ns) : 0;
    if (blocks_->is_empty()) blocks_->hand_on();  // the building thread has nothing to do
    tell_read(was_open, n_handed_on, read_until_ns);
    if (has_room && n_datagrams == 0) end_receiving();
    return n_datagrams;
}

/// The arguments are values from before this read. Datagrams in a block opened by this read arrived with it.
void CameraIntake::tell_read(bool was_open, std::uint64_t n_handed_on, Nanoseconds read_until_ns) noexcept {
    if (!blocks_->has_open())
        read_until_ns = times_.until_ns();
    else if (was_open && n_handed_on == blocks_->n_handed_on())
        return;
    n_handed_on_.store(blocks_->n_handed_on(), std::memory_order_relaxed);  // stored before the time that it belongs to
    read_until_ns_.store(read_until_ns, std::memory_order_release);         // pairs with the acquire in built_until_ns
}

/// Call it if no datagram came although there was room: while draining, receiving ends.
void CameraIntake::end_receiving() noexcept {
    if (phase_.load(std::memory_order_acquire) != Phase::draining_receive || backend_->has_more_coming()) return;
    backend_shown_ns_ = 0;
    show_backend(clock_.monotonic_ns());
    if (blocks_ != nullptr) blocks_->hand_on();
    phase_.store(Phase::draining_build, std::memory_order_release);  // pairs with the acquire in build_work
}

std::size_t CameraIntake::build_work() noexcept {
    if (blocks_ == nullptr) return finish_work();
    // Read before looking for blocks: all blocks have then been handed on.
    const bool is_last = phase_.load(std::memory_order_acquire) == Phase::draining_build;
    builder_.read_clocks();
    const bool may_build = builder_.wants(config_.blocks.max_datagrams);
    std::span<const receive::Datagram> datagrams;
    std::uint32_t block = 0;
    if (may_build && blocks_->try_take(datagrams, block)) {
        for (const receive::Datagram& datagram : datagrams) builder_.place(datagram);
        blocks_->give_back(block);
        ++n_taken_;
        return builder_.on_time(built_until_ns()) + datagrams.size();
    }
    const std::size_t n_events = builder_.on_time(built_until_ns());
    return n_events + (may_build && is_last ? finish_work() : 0);
}

/// The time up to which all read datagrams are in blocks that this thread has taken.
Nanoseconds CameraIntake::built_until_ns() noexcept {
    for (int i = 0; i < 2 && n_taken_ >= n_next_; ++i) {
        built_until_ns_ = next_until_ns_;
        next_until_ns_ = read_until_ns_.load(std::memory_order_acquire);  // pairs with tell_read
        n_next_ = n_handed_on_.load(std::memory_order_relaxed);           // of that time or later
    }
    return built_until_ns_;
}

Nanoseconds CameraIntake::receive_wait_ns() const noexcept {
    if (blocks_ == nullptr) return build_wait_ns();
    return blocks_->has_open() ? usual_wait_ns : 10 * usual_wait_ns;  // time-outs need a recent time of reading
}

std::size_t CameraIntake::finish_work() noexcept {
    if (phase_.load(std::memory_order_acquire) != Phase::draining_build || !builder_.finish()) return 0;
    builder_.end_input();
    phase_.store(Phase::drained, std::memory_order_release);  // pairs with the acquire in is_drained
    return 1;
}

void CameraIntake::drain() noexcept {
    Phase running = Phase::running;
    phase_.compare_exchange_strong(running, Phase::draining_receive, std::memory_order_acq_rel);
}

std::size_t CameraIntake::receive() noexcept {
    const std::size_t n_datagrams = backend_->receive(batch_);
    for (std::size_t i = 0; i < n_datagrams; ++i) {
        count(batch_[i]);
        if (blocks_ == nullptr)
            builder_.place(batch_[i]);
        else if (!blocks_->try_add(batch_[i]))
            ports_[batch_[i].stream].add(receive::PortCounter::blocks_dropped);
    }
    times_.see(std::span(batch_).first(n_datagrams));
    return n_datagrams;
}

/// Reads each port that has datagrams, in turn; a port whose predictions fail too often is read without them.
std::size_t CameraIntake::receive_in_place() noexcept {
    const std::size_t n_ready = sockets_->find_ready(ready_);
    const std::size_t n_at_once = std::min(batch_.size(), call_bytes_ / config_.builder.shape.slot_bytes() + 1);
    std::size_t n_datagrams = 0;
    for (std::size_t i = 0; i < n_ready; ++i) {
        const std::size_t share = std::max<std::size_t>(1, n_at_once / n_ready);
        const std::size_t n_places = builder_.promise(ready_[i], std::span(promised_).first(share));
        if (n_places == 0) {
            const std::size_t n_copied = receive();
            builder_.note_unpromised(n_copied);
            return n_datagrams + n_copied;
        }
        const std::size_t n_taken = sockets_->receive_into(ready_[i], std::span(promised_).first(n_places), batch_);
        for (std::size_t k = 0; k < n_taken; ++k) count(batch_[k]);
        times_.see(std::span(batch_).first(n_taken));
        builder_.place_promised(std::span(batch_).first(n_taken));
        n_datagrams += n_taken;
    }
    return n_datagrams;
}

void CameraIntake::count(const receive::Datagram& datagram) noexcept {
    ports_[datagram.stream].add(receive::PortCounter::datagrams);
    ports_[datagram.stream].add(receive::PortCounter::bytes, datagram.bytes.size());
}

void CameraIntake::show_backend(Nanoseconds now_ns) noexcept {
    if (now_ns - backend_shown_ns_ < show_backend_every_ns) return;
    backend_shown_ns_ = now_ns;
    for (std::uint16_t i = 0; i < ports_.size(); ++i) {
        ports_[i].set(receive::PortCounter::kernel_dropped, backend_->kernel_dropped(i));
        ports_[i].set(receive::PortCounter::super_packets, backend_->n_super_packets(i));
    }
}

}  // namespace anello::camera
