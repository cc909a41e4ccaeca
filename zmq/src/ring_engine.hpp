// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "borrower.hpp"
#include "core/kernel_handle.hpp"
#include "doorbell.hpp"
#include "frame_follower.hpp"
#include "lender.hpp"
#include "ring_handover.hpp"
#include "socket_ends.hpp"
#include "stream/receiver.hpp"
#include "stream/sender.hpp"
#include "zmtp_engine.hpp"

namespace anello::zeromq {

/// libzmq's engine over a unix socket, which changes to two rings in shared memory if both sides support them.
///
/// The handshake is ZMTP's, over the socket, with one more property in the READY command (any mechanism). If both
/// sides sent it, all bytes after the last handshake command go through rings: the side that connected makes them and
/// sends their descriptors, and the other answers yes or no. Otherwise, or without memory, all bytes use the socket.
///
/// Large messages are lent if both sides support it: a command that says where the bytes lie goes through the ring.
/// If lent memory has no room, or too much of it is unread, the message itself goes through the ring.
///
/// Waking: libzmq polls an event descriptor instead of the socket. The descriptor is raised as long as the ring may
/// hold data, as libzmq's engines expect a level trigger; it is not polled while input is stopped. The Doorbell
/// watches the socket. Only one I/O thread uses an engine.
class RingEngine final : public zmq::zmtp_engine_t, private DoorbellListener {
  public:
    /// required: the endpoint is ring://, so a peer without rings is refused.
    RingEngine(zmq::fd_t socket, const zmq::options_t& options, const zmq::endpoint_uri_pair_t& endpoints,
               bool required);
    ~RingEngine() override;

    void plug(zmq::io_thread_t* thread, zmq::session_base_t* session) override;

  protected:
    bool handshake() override;
    bool peer_welcome() override;
    int read(void* data, std::size_t size_bytes) override;
    int write(const void* data, std::size_t size_bytes) override;
    bool output_held() override;
    void leaving(zmq::msg_t* message) override;
    int arriving(zmq::msg_t* message) override;

  private:
    enum class State : std::uint8_t { handshake, waiting, socket, rings };

    bool connected() const { return _endpoint_uri_pair.local_type == zmq::endpoint_type_connect; }
    bool ready() const;
    bool peer_offers() const;
    int next_command(zmq::msg_t* message);
    int process_command(zmq::msg_t* message);

    void begin_when_ready();
    void offer_rings();
    bool hear_answer();
    bool take_offer();
    void use_rings();
    void use_socket();
    void give_up(int error_number);
    bool prepare(std::unique_ptr<RingPair> rings);

    int read_handshake(void* data, std::size_t size_bytes);
    int write_handshake(const void* data, std::size_t size_bytes);
    int read_ring(void* data, std::size_t size_bytes);
    int write_ring(const void* data, std::size_t size_bytes);
    void offer_lent_memory();
    void borrow();
    void raise() noexcept;
    void lower() noexcept;

    void on_rung() override;
    void on_timeout() override;

    using StreamCounter = stream::StreamCounter;

    const zmq::fd_t socket_;
    const bool required_;
    zmq::io_thread_t* thread_ = nullptr;
    State state_ = State::handshake;
    FrameFollower incoming_;
    std::uint64_t n_handshake_bytes_;  ///< bytes of our handshake not yet written to the socket
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(StreamCounter::count)> counts_{};
    BellSocket bell_;
    Doorbell doorbell_;
    std::unique_ptr<RingPair> rings_;  ///< null once sender_ and receiver_ own the rings
    std::optional<RingShare> share_;
    std::optional<stream::Sender> sender_;
    std::optional<stream::Receiver> receiver_;
    Descriptor wake_;  ///< the event descriptor that libzmq polls
    bool raised_ = false;
    bool wants_space_ = false;
    std::unique_ptr<Lender> lender_;
    bool lender_offered_ = false;
    BorrowerOfConnection borrower_;
    std::size_t n_lent_unwritten_ = 0;  ///< bytes of lent messages whose commands are not in the ring yet
};

}  // namespace anello::zeromq
