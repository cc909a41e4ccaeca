// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io_object.hpp"

namespace anello::zeromq {

/// Receives the events of the socket of a connection that uses rings.
class DoorbellListener {
  public:
    virtual ~DoorbellListener() = default;
    virtual void on_rung() = 0;     ///< May destroy the doorbell.
    virtual void on_timeout() = 0;  ///< May destroy the doorbell.
};

/// Watches the socket for the engine. The engine stops reading while the program does not read, but must still notice
/// free space in the ring and the end of the peer. Only the engine's I/O thread uses it.
class Doorbell final : public zmq::io_object_t {
  public:
    explicit Doorbell(DoorbellListener& listener) : listener_(listener) {}
    ~Doorbell() override { stop(); }

    void start(zmq::io_thread_t* thread, int timeout_ms);  ///< timeout_ms 0: no timeout
    void stop_timer();
    void watch(int socket);
    void unwatch();
    void stop();

    void in_event() override { listener_.on_rung(); }
    void timer_event(int) override;

  private:
    static constexpr int timer_id = 1;
    DoorbellListener& listener_;
    bool started_ = false, timed_ = false;
    handle_t handle_ = nullptr;
};

}  // namespace anello::zeromq
