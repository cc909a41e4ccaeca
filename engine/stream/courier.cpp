// SPDX-License-Identifier: Apache-2.0
#include "stream/courier.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/errors.hpp"
#include "stream/ring/ring_memory.hpp"
#include "stream/ring/waiting.hpp"

namespace anello::stream {
namespace {

constexpr Nanoseconds look_for_ends_ns = 1'000'000;
/// The fabric reports the peer's end after its last put; its process may end before that, so the courier waits this
/// long.
constexpr Nanoseconds last_words_ns = 200'000'000;
constexpr int turns_per_clock = 16;

Nanoseconds clock_ns() noexcept {
    return SystemClock::instance().monotonic_ns();
}

bool hung_up(const Descriptor& socket) noexcept {
    pollfd watched{socket.number(), POLLRDHUP, 0};
    return poll(&watched, 1, 0) != 0;
}

std::optional<FabricSignal> signal_in(std::span<const std::byte> header) noexcept {
    std::uint64_t bits = 0;
    if (header.size() != sizeof bits) return std::nullopt;
    std::memcpy(&bits, header.data(), sizeof bits);
    return decode_signal(bits);
}

}  // namespace

// --- Connecting
Courier::Courier(const StreamConfig& config, const fabric::FabricConfig& fabric_config,
                 Counters<StreamCounter> counters)
    : config_(config), other_(fabric_config.self == 0 ? 1 : 0), counters_(counters) {
    const auto fabric_counters = fabric_page_.add_block<fabric::FabricCounter>("fabric");
    fabric_ = config.make_fabric(fabric_config, *this, SystemClock::instance(), fabric_counters);
    if (config.direction == Direction::send) {
        region_ = fabric_->register_memory(no_ring_);
        return;
    }
    arrivals_ = std::make_shared<const RingMemory>(RingMemory::create(config.ring_bytes));
    region_ = fabric_->register_memory({arrivals_->bytes(), arrivals_->size_bytes()});
}

Courier::~Courier() {
    if (!thread_.joinable()) return;
    if (!programs_line_->is_ours()) {  // this is a fork of the process that has the thread
        thread_.detach();
        return;
    }
    programs_line_->hang_up();
    thread_.join();
}

void Courier::connect(std::span<const std::byte> address) {
    fabric_->connect(other_, address);
}

bool Courier::wait_a_little(const Descriptor& control) noexcept {
    if (fabric_->progress() == 0 && fabric_->arm()) {
        std::array<pollfd, 2> watched{{{fabric_->descriptor(), POLLIN, 0}, {control.number(), POLLIN, 0}}};
        poll(watched.data(), watched.size(), 1);
    }
    return !peer_gone_;
}

void Courier::attach(std::span<const std::byte> key, std::size_t ring_bytes) {
    far_ = fabric_->attach(other_, key);
    if (ring_bytes == 0) return;
    if (far_.size_bytes != ring_bytes)
        throw ConfigError("peer_ring", "its key must be of as many bytes as it said", std::to_string(far_.size_bytes),
                          "The peer is not of this protocol, or means harm");
    departures_ = std::make_shared<const RingMemory>(RingMemory::create(ring_bytes));
}

StreamEnds Courier::start(std::shared_ptr<Courier> self, Descriptor control) {
    Courier& courier = *self;
    std::array<int, 2> pair{-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0)
        throw SystemError("cannot make a pair of sockets", errno, "Raise the limit of open files: ulimit -n");
    courier.programs_line_ = std::make_unique<BellLine>(Descriptor(pair[0]));
    courier.own_line_ = std::make_shared<BellLine>(Descriptor(pair[1]));
    courier.control_ = std::move(control);
    const SharedLine watched(self, courier.programs_line_.get());  // the ends keep the courier alive by it
    StreamEnds hands;
    if (courier.departures_ != nullptr) {
        hands.send = std::make_unique<SharedSendEnd>(courier.departures_, watched);
        courier.from_program_ = std::make_unique<SharedReceiveEnd>(courier.departures_, courier.own_line_);
    }
    if (courier.arrivals_ != nullptr) {
        hands.receive = std::make_unique<SharedReceiveEnd>(courier.arrivals_, watched);
        courier.to_program_ = std::make_unique<SharedSendEnd>(courier.arrivals_, courier.own_line_);
    }
    courier.thread_ = std::thread([&courier] { courier.run(); });
    pthread_setname_np(courier.thread_.native_handle(), "stream-courier");
    return hands;
}

// --- The courier's thread. Hot path: no allocation, no lock, no log, no throw.
void Courier::run() noexcept {
    Nanoseconds idle_since_ns = clock_ns(), looked_ns = 0;
    for (int n_turns = 0; !over(); ++n_turns) {
        const bool moved = carry();
        if (!moved && n_turns % turns_per_clock != 0) {
            pause_processor();
            continue;
        }
        const Nanoseconds time_ns = clock_ns();
        if (moved) idle_since_ns = time_ns;
        if (time_ns - looked_ns >= look_for_ends_ns) {
            looked_ns = time_ns;
            look_for_ends();
        }
        const bool spins = config_.wait == WaitMode::spin ||
                           (config_.wait == WaitMode::spin_then_sleep && time_ns - idle_since_ns < config_.spin_ns);
        if (moved || spins || give_credit(true)) continue;
        sleep();
        n_turns = 0;
        looked_ns = 0;
    }
    if (peer_gone_) counters_.add(StreamCounter::courier_lost_peer);
    if (from_program_ != nullptr)
        counters_.add(StreamCounter::bytes_left_behind, from_program_->head() - sent_ + bytes_under_way_);
    own_line_->hang_up();
    control_ = Descriptor();
    fabric_.reset();
}

bool Courier::carry() noexcept {
    bool moved = fabric_->progress() > 0;
    if (from_program_ != nullptr) moved |= send_bytes();
    if (to_program_ != nullptr) moved |= give_credit(false);
    return moved;
}

bool Courier::send_bytes() noexcept {
    if (sent_end_) return false;
    const bool ended = from_program_->peer_ended();  // before head(), which is final afterwards
    const std::uint64_t head = from_program_->head(), begin = sent_;
    const std::size_t size_bytes = departures_->size_bytes();
    while (sent_ != head) {
        const auto at = static_cast<std::size_t>(sent_ & (size_bytes - 1));
        const auto n_bytes = std::min({static_cast<std::size_t>(head - sent_), size_bytes - at, largest_piece_bytes});
        if (!say({FabricWord::head, sent_ + n_bytes}, at, {departures_->bytes() + at, n_bytes})) break;
        sent_ += n_bytes;
        counters_.add(StreamCounter::pieces_sent);
    }
    if (ended && sent_ == head) sent_end_ = say({FabricWord::ended, head});
    return sent_ != begin || sent_end_;
}

/// Returns space in pieces of an eighth of the ring, and all of it if the ring is empty or there is no other work,
/// since a sender may wait for any number of bytes.
bool Courier::give_credit(bool all) noexcept {
    if (to_program_ == nullptr || sent_closed_) return false;
    const bool closed = to_program_->peer_closed();
    const std::uint64_t tail = to_program_->tail();
    const bool due = all || tail == arrived_ || tail - credited_ >= arrivals_->size_bytes() / 8;
    bool said = false;
    if (tail != credited_ && due && (said = say({FabricWord::tail, tail}))) {
        credited_ = tail;
        counters_.add(StreamCounter::credits);
    }
    if (closed) sent_closed_ = say({FabricWord::closed, 0});
    return said || sent_closed_;
}

bool Courier::say(FabricSignal signal, std::size_t at, std::span<const std::byte> bytes) noexcept {
    const std::uint64_t bits = encode(signal);
    const std::uint64_t token = bytes.size();
    const bool went =
        taken(config_.carry == Carry::put ? fabric_->put(far_, at, bytes, bits, token)
                                          : fabric_->send(other_, std::as_bytes(std::span(&bits, 1)), bytes, token));
    if (went) bytes_under_way_ += token;
    return went;
}

bool Courier::taken(fabric::Status status) noexcept {
    if (status == fabric::Status::ok)
        ++n_under_way_;
    else if (status != fabric::Status::busy)
        peer_gone_ = true;
    return status == fabric::Status::ok;
}

/// The position stated in the message: after the bytes already received, where the program holds no data.
std::span<std::byte> Courier::place(fabric::Peer, std::span<const std::byte> header, std::size_t n_bytes) noexcept {
    const std::optional<FabricSignal> signal = signal_in(header);
    if (to_program_ != nullptr && signal && signal->word == FabricWord::head) {
        const std::size_t size_bytes = arrivals_->size_bytes();
        const std::uint64_t begin = signal->index - n_bytes, tail = to_program_->tail();
        if (n_bytes <= size_bytes && begin - arrived_ <= size_bytes && signal->index - tail <= size_bytes)
            return {arrivals_->bytes() + (begin & (size_bytes - 1)), n_bytes};
    }
    peer_gone_ = true;
    return {};
}

void Courier::on_message(fabric::Peer, std::span<const std::byte> header, std::span<std::byte>) noexcept {
    take(signal_in(header));
}

void Courier::on_signal(fabric::Peer, std::uint64_t bits) noexcept {
    take(decode_signal(bits));
}

/// Takes an index from the peer; the program's end checks it before use. Repeats as long as signals arrive.
void Courier::take(std::optional<FabricSignal> signal) noexcept {
    if (peer_hung_up_ns_ != 0) peer_hung_up_ns_ = clock_ns();
    if (!signal) {
        peer_gone_ = true;
        return;
    }
    const bool of_sender = signal->word == FabricWord::head || signal->word == FabricWord::ended;
    if (of_sender ? to_program_ == nullptr : from_program_ == nullptr) return;
    switch (signal->word) {
        case FabricWord::head:
        case FabricWord::ended:
            arrived_ = signal->index;
            to_program_->publish(arrived_);
            if (signal->word == FabricWord::ended) to_program_->end();
            return;
        case FabricWord::tail:
            from_program_->release(signal->index,
                                   departures_->size_bytes() - static_cast<std::size_t>(sent_ - signal->index));
            return;
        default:
            from_program_->close();
    }
}

void Courier::on_done(fabric::Peer, std::uint64_t token, fabric::Status status) noexcept {
    --n_under_way_;
    if (status == fabric::Status::ok)
        bytes_under_way_ -= token;
    else
        peer_gone_ = true;
}

void Courier::on_peer(fabric::Peer, fabric::PeerState state) noexcept {
    if (state == fabric::PeerState::down) peer_gone_ = true;
}

void Courier::look_for_ends() noexcept {
    if (peer_hung_up_ns_ == 0 && hung_up(control_)) peer_hung_up_ns_ = clock_ns();
    if (program_left_ns_ == 0 && !own_line_->peer_alive()) {
        program_left_ns_ = clock_ns();
        abandoned_ = (from_program_ != nullptr && !from_program_->peer_ended()) ||
                     (to_program_ != nullptr && !to_program_->peer_closed());
    }
}

bool Courier::all_is_said() noexcept {
    return n_under_way_ == 0 && (from_program_ == nullptr || sent_end_) && (to_program_ == nullptr || sent_closed_);
}

bool Courier::over() noexcept {
    if (peer_gone_ || abandoned_) return true;
    if (peer_hung_up_ns_ != 0 && clock_ns() - peer_hung_up_ns_ >= last_words_ns) return true;
    return program_left_ns_ != 0 && (all_is_said() || clock_ns() - program_left_ns_ >= config_.peer_timeout_ns);
}

/// Sleeps until the program's bells, the fabric, or the end of either side wakes it.
void Courier::sleep() noexcept {
    if (from_program_ != nullptr) {
        from_program_->quiet_bell();
        from_program_->ask_for_bell();
    }
    if (to_program_ != nullptr) {
        to_program_->quiet_bell();
        to_program_->ask_for_bell(1);
    }
    if (!carry() && !give_credit(true) && fabric_->arm()) {
        std::array<pollfd, 4> watched{};
        std::size_t n_watched = 0;
        const auto watch = [&](int descriptor, short events) { watched[n_watched++] = {descriptor, events, 0}; };
        watch(fabric_->descriptor(), POLLIN);
        if (peer_hung_up_ns_ == 0) watch(control_.number(), POLLRDHUP);
        if (program_left_ns_ == 0 && from_program_ != nullptr) watch(from_program_->descriptor(), POLLIN);
        if (program_left_ns_ == 0 && to_program_ != nullptr) watch(to_program_->descriptor(), POLLIN);
        const bool ends = peer_hung_up_ns_ != 0 || program_left_ns_ != 0;
        const Nanoseconds longest_ns = ends ? look_for_ends_ns : config_.peer_timeout_ns / 20;
        const timespec longest{longest_ns / 1'000'000'000, longest_ns % 1'000'000'000};
        counters_.add(StreamCounter::courier_sleeps);
        ppoll(watched.data(), n_watched, &longest, nullptr);
    }
    if (from_program_ != nullptr) from_program_->take_wish_back();
    if (to_program_ != nullptr) to_program_->take_wish_back();
}

}  // namespace anello::stream
