// SPDX-License-Identifier: Apache-2.0
#include "ring_engine.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "err.hpp"
#include "mechanism.hpp"
#include "session_base.hpp"
#include "settings.hpp"
#include "socket_base.hpp"
#include "stream/stream_config.hpp"

namespace anello::zeromq {
namespace {

using stream::StreamStatus;

/// The property of the READY command that offers rings. Its value is the version of the protocol after the handshake.
const std::string offer_name = "X-Anello-Ring";
const std::string offer_value = "2", offer_without_lending = "2c";
/// Every peer sends this property: once it has arrived, all properties have.
const std::string known_name = "Socket-Type";
constexpr std::uint64_t greeting_bytes = 64;
/// Copying a smaller message is as fast as lending it.
constexpr std::size_t smallest_lent_bytes = 32 * 1024;
/// The engine writes to the ring, and so wakes the peer, when lent messages of this size have been collected.
constexpr std::size_t lent_grain_bytes = 128 * 1024;

/// Lent messages may be unread up to this number of ring sizes: high-water marks are to hold senders back, not the
/// amount of lent memory.
constexpr std::size_t unread_rings = 2;

/// The command that goes through the ring instead of a lent message.
struct LoanCommand {
    std::array<char, 8> name;  ///< as in ZMTP: one byte with the name's length, then seven letters
    Loan loan;
};
constexpr std::array<char, 8> loan_name{7, 'A', 'N', 'E', 'L', 'E', 'N', 'T'};

zmq::options_t with_offer(zmq::options_t options) {
    options.app_metadata[offer_name] = settings().lent_bytes == 0 ? offer_without_lending : offer_value;
    return options;
}

}  // namespace

RingEngine::RingEngine(zmq::fd_t socket, const zmq::options_t& options, const zmq::endpoint_uri_pair_t& endpoints,
                       bool required)
    : zmtp_engine_t(socket, with_offer(options), endpoints),
      socket_(socket),
      required_(required),
      n_handshake_bytes_(greeting_bytes),
      bell_(socket),
      doorbell_(*this) {}

RingEngine::~RingEngine() {
    doorbell_.stop();
}

void RingEngine::plug(zmq::io_thread_t* thread, zmq::session_base_t* session) {
    thread_ = thread;
    zmtp_engine_t::plug(thread, session);
}

// --- Handshake
bool RingEngine::handshake() {
    if (!zmtp_engine_t::handshake()) return false;  // this may be gone
    if (_mechanism == nullptr) {                    // a peer older than ZMTP 3 has no properties
        if (required_) {
            socket()->event_handshake_failed_no_detail(_endpoint_uri_pair, EPROTONOSUPPORT);
            error(protocol_error);
            return false;
        }
        state_ = State::socket;
        return true;
    }
    using Step = int (zmq::stream_engine_base_t::*)(zmq::msg_t*);
    _next_msg = static_cast<Step>(&RingEngine::next_command);
    _process_msg = static_cast<Step>(&RingEngine::process_command);
    return true;
}

bool RingEngine::ready() const {
    return _mechanism != nullptr && _mechanism->status() == zmq::mechanism_t::ready;
}

bool RingEngine::peer_offers() const {
    const auto& properties = _mechanism->get_zmtp_properties();
    const auto found = properties.find(offer_name);
    return found != properties.end() && (found->second == offer_value || found->second == offer_without_lending);
}

bool RingEngine::peer_welcome() {
    if (!required_ || _mechanism->get_zmtp_properties().count(known_name) == 0 || peer_offers()) return true;
    socket()->event_handshake_failed_no_detail(_endpoint_uri_pair, EPROTONOSUPPORT);
    return false;
}

/// Counts the bytes of our handshake commands, as bytes written after them may belong into the ring.
int RingEngine::next_command(zmq::msg_t* message) {
    const bool over = ready();
    const int result = next_handshake_command(message);
    if (result == 0 && !over) n_handshake_bytes_ += FrameFollower::frame_bytes(message->size());
    return result;
}

int RingEngine::process_command(zmq::msg_t* message) {
    const int result = process_handshake_command(message);
    if (result == 0) begin_when_ready();
    return result;
}

/// Reads frame by frame, as bytes after the last command may be for this engine and not for libzmq's decoder.
int RingEngine::read_handshake(void* data, std::size_t size_bytes) {
    if (_mechanism == nullptr) return zmtp_engine_t::read(data, size_bytes);  // the greeting has a fixed length
    const auto n_wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size_bytes, incoming_.may_read()));
    const int n_read = zmtp_engine_t::read(data, n_wanted);
    if (n_read > 0) incoming_.follow(static_cast<const unsigned char*>(data), static_cast<std::size_t>(n_read));
    return n_read;
}

int RingEngine::write_handshake(const void* data, std::size_t size_bytes) {
    const auto n_wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size_bytes, n_handshake_bytes_));
    const int n_written = zmtp_engine_t::write(data, n_wanted);
    if (n_written <= 0) return n_written;
    n_handshake_bytes_ -= static_cast<std::uint64_t>(n_written);
    begin_when_ready();
    return n_written;
}

// --- Upgrade
void RingEngine::begin_when_ready() {
    if (state_ != State::handshake || n_handshake_bytes_ != 0 || !ready()) return;
    if (!peer_offers()) {
        use_socket();
        return;
    }
    state_ = State::waiting;
    doorbell_.start(thread_, _options.handshake_ivl);
    if (connected()) offer_rings();
}

bool RingEngine::prepare(std::unique_ptr<RingPair> rings) {
    if (rings == nullptr) return false;
    try {
        wake_ = make_event_descriptor();
    } catch (const std::exception&) {
        return false;
    }
    rings_ = std::move(rings);
    return true;
}

void RingEngine::offer_rings() {
    if (prepare(try_create_rings(_options.type)) && try_send_rings(socket_, *rings_)) return;
    rings_.reset();
    if (try_send(socket_, Word::no))
        use_socket();
    else
        give_up(ENOBUFS);
}

/// Runs on the side that connected. True: it is now known whether bytes go through rings or the socket.
bool RingEngine::hear_answer() {
    Word word{};
    std::unique_ptr<RingPair> none;
    const int n_received = receive_word(socket_, word, none);
    if (n_received < 0) return false;
    if (n_received == 0) errno = EPIPE;
    if (n_received > 0) errno = EPROTO;
    if (n_received == 0 || (word != Word::yes && word != Word::no)) return false;
    word == Word::yes ? use_rings() : use_socket();
    return true;
}

/// Runs on the side that was connected to. True: as for hear_answer().
bool RingEngine::take_offer() {
    Word word{};
    std::unique_ptr<RingPair> rings;
    const int n_received = receive_word(socket_, word, rings);
    if (n_received < 0) return false;
    if (n_received == 0) errno = EPIPE;
    if (n_received > 0) errno = EPROTO;
    if (n_received == 0 || (word != Word::rings && word != Word::no)) return false;
    const bool usable = prepare(std::move(rings));
    if (word == Word::rings && !try_send(socket_, usable ? Word::yes : Word::no)) {
        errno = EPIPE;
        return false;
    }
    usable ? use_rings() : use_socket();
    return true;
}

void RingEngine::use_rings() {
    doorbell_.stop_timer();
    stream::StreamConfig config;
    config.wait = stream::WaitMode::block;  // never used: nothing here waits
    const Counters<StreamCounter> counters(counts_.data());
    sender_.emplace(std::make_unique<SocketSendEnd>(std::move(rings_->send), bell_), config, counters);
    receiver_.emplace(std::make_unique<SocketReceiveEnd>(std::move(rings_->receive), bell_), config, counters);
    share_.emplace(std::move(rings_->share));
    rings_.reset();
    // A side that has asked for its descriptor gets bells from then on.
    sender_->space_descriptor();
    receiver_->data_descriptor();
    state_ = State::rings;
    poll_instead(wake_.number());
    doorbell_.watch(socket_);
    if (!_input_stopped) set_pollin();
    set_pollout();
}

void RingEngine::use_socket() {
    doorbell_.stop();
    rings_.reset();
    state_ = State::socket;
    if (required_) give_up(ENOMEM);
    set_pollout();
}

/// The engine must not be destroyed within a call of its own: it will read the end of the connection, and reconnect.
void RingEngine::give_up(int error_number) {
    socket()->event_handshake_failed_no_detail(_endpoint_uri_pair, error_number);
    shutdown(socket_, SHUT_RDWR);
}

// --- Bytes
int RingEngine::read(void* data, std::size_t size_bytes) {
    if (state_ == State::waiting && !(connected() ? hear_answer() : take_offer())) return -1;
    if (state_ == State::rings) return read_ring(data, size_bytes);
    if (state_ == State::handshake) return read_handshake(data, size_bytes);
    return zmtp_engine_t::read(data, size_bytes);
}

int RingEngine::write(const void* data, std::size_t size_bytes) {
    if (state_ == State::rings) return write_ring(data, size_bytes);
    if (state_ == State::handshake) return write_handshake(data, size_bytes);
    if (state_ == State::socket) return zmtp_engine_t::write(data, size_bytes);
    errno = EAGAIN;
    return -1;  // the peer's answer is still missing
}

// Hot path: no allocation, no lock, no log, no throw.
int RingEngine::read_ring(void* data, std::size_t size_bytes) {
    constexpr std::size_t max_bytes = std::numeric_limits<int>::max();
    const stream::Bytes room(static_cast<std::byte*>(data), std::min(size_bytes, max_bytes));
    const stream::Transfer taken = receiver_->try_recv(room);
    if (taken.n_bytes > 0) {
        // libzmq reads once per event, so bytes that are left need another event. If none are left, the failed peek()
        // has asked the peer to ring.
        stream::ConstBytes left;
        if (!raised_ && receiver_->peek(left, 1, 0) != StreamStatus::would_block) raise();
        return static_cast<int>(taken.n_bytes);
    }
    if (taken.status == StreamStatus::would_block) {
        lower();
        errno = EAGAIN;
    } else {
        errno = taken.status == StreamStatus::corrupt ? EPROTO : EPIPE;
    }
    return -1;
}

// Hot path: no allocation, no lock, no log, no throw.
int RingEngine::write_ring(const void* data, std::size_t size_bytes) {
    if (bell_.peer_gone()) {
        errno = EPIPE;
        return -1;
    }
    // One ring's worth at most, so that other connections of this thread get their turn.
    const stream::ConstBytes bytes(static_cast<const std::byte*>(data),
                                   std::min(size_bytes, sender_->send_ring_bytes()));
    const stream::Transfer sent = sender_->try_send(bytes);
    if (sent.n_bytes > 0) {
        n_lent_unwritten_ = 0;
        return static_cast<int>(sent.n_bytes);
    }
    wants_space_ = sent.status == StreamStatus::would_block;
    if (!wants_space_) bell_.hang_up();  // the peer broke the protocol: on_rung() will see the hang-up
    errno = wants_space_ ? EAGAIN : EPIPE;
    return -1;  // not 0: libzmq would try again at once, for ever
}

// --- Large messages
bool RingEngine::output_held() {
    return n_lent_unwritten_ >= lent_grain_bytes;
}

// Hot path: no allocation, no lock, no log, no throw, except for the first large message.
void RingEngine::leaving(zmq::msg_t* message) {
    if (state_ != State::rings || message->size() < smallest_lent_bytes ||
        (message->flags() & zmq::msg_t::command) != 0)
        return;
    if (!lender_offered_) offer_lent_memory();
    if (lender_ == nullptr || !bell_.peer_accepted()) return;
    const std::span bytes(static_cast<const std::byte*>(message->data()), message->size());
    LoanCommand command{loan_name, {}};
    if (!lender_->try_lend(bytes, unread_rings * sender_->send_ring_bytes(), command.loan)) return;
    n_lent_unwritten_ += bytes.size();
    const unsigned char flags = message->flags() & zmq::msg_t::more;
    [[maybe_unused]] const int closed = message->close();
    message->init_buffer(&command, sizeof command);
    message->set_flags(flags | zmq::msg_t::command);
}

int RingEngine::arriving(zmq::msg_t* message) {
    LoanCommand command{};
    if (state_ != State::rings || (message->flags() & zmq::msg_t::command) == 0 || message->size() != sizeof command)
        return 0;
    std::memcpy(&command, message->data(), sizeof command);
    if (command.name != loan_name) return 0;
    const unsigned char flags = message->flags() & zmq::msg_t::more;
    zmq::msg_t lent;
    const bool too_large =
        _options.maxmsgsize >= 0 && command.loan.n_bytes > static_cast<std::uint64_t>(_options.maxmsgsize);
    if (too_large || borrower_ == nullptr || !borrower_->try_take(command.loan, lent)) {
        errno = too_large ? EMSGSIZE : EPROTO;
        return -1;
    }
    lent.set_flags(flags);
    [[maybe_unused]] const int closed = message->close();
    *message = lent;
    return 0;
}

/// Runs once per connection. Messages go through the ring until the peer has accepted the memory.
void RingEngine::offer_lent_memory() {
    lender_offered_ = true;
    if (settings().lent_bytes == 0 || _mechanism->get_zmtp_properties().at(offer_name) != offer_value) return;
    auto memory = LentMemory::try_create(settings().lent_bytes);
    if (memory == nullptr || !bell_.try_offer(memory->descriptor())) return;
    try {
        lender_ = std::make_unique<Lender>(std::move(memory), settings().copier ? Copier::try_share() : nullptr);
    } catch (const std::bad_alloc&) {
    }
}

void RingEngine::borrow() {
    Descriptor offered = bell_.take_offered();
    if (!offered.open() || borrower_ != nullptr || settings().lent_bytes == 0) return;
    auto memory = LentMemory::try_attach(std::move(offered));
    if (memory == nullptr) return;
    borrower_.reset(Borrower::try_make(std::move(memory)));
    if (borrower_ != nullptr && !bell_.try_accept()) borrower_.reset();
}

void RingEngine::raise() noexcept {
    signal_event(wake_);
    raised_ = true;
}

void RingEngine::lower() noexcept {
    if (raised_) take_event(wake_);
    raised_ = false;
}

void RingEngine::on_rung() {
    if (!bell_.take_rings()) doorbell_.unwatch();  // libzmq would report a hang-up again and again
    borrow();
    if (wants_space_) {
        wants_space_ = false;
        set_pollout();
    }
    // While input is stopped, this engine must not read; restart_input() will. in_event() may destroy this engine.
    if (!_input_stopped) in_event();
}

void RingEngine::on_timeout() {
    socket()->event_handshake_failed_no_detail(_endpoint_uri_pair, ETIMEDOUT);
    error(timeout_error);
}

}  // namespace anello::zeromq
