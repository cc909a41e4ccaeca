// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io_object.hpp"

namespace anello::zeromq {

/// Who is told what happens on the socket of an upgraded connection.
class DoorbellListener {
  public:
    virtual ~DoorbellListener() = default;
    virtual void on_rung() = 0;     ///< May end the doorbell's life.
    virtual void on_timeout() = 0;  ///< The same.
};

/// Watches the socket beside the engine: the engine stops reading when its user does not, and must hear of space and
/// of the peer's end all the same. An I/O thread's object; used by that thread only.
class Doorbell final : public zmq::io_object_t {
  public:
    explicit Doorbell(DoorbellListener& listener) : listener_(listener) {}
    ~Doorbell() override { stop(); }

    void start(zmq::io_thread_t* thread, int timeout_ms);  ///< 0: no timeout
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
