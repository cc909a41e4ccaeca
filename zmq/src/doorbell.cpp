// SPDX-License-Identifier: Apache-2.0
#include "doorbell.hpp"

namespace anello::zeromq {

void Doorbell::start(zmq::io_thread_t* thread, int timeout_ms) {
    plug(thread);
    started_ = true;
    if (timeout_ms <= 0) return;
    add_timer(timeout_ms, timer_id);
    timed_ = true;
}

void Doorbell::stop_timer() {
    if (timed_) cancel_timer(timer_id);
    timed_ = false;
}

void Doorbell::watch(int socket) {
    handle_ = add_fd(socket);
    set_pollin(handle_);
}

void Doorbell::unwatch() {
    if (handle_ != nullptr) rm_fd(handle_);
    handle_ = nullptr;
}

void Doorbell::stop() {
    if (!started_) return;
    stop_timer();
    unwatch();
    unplug();
    started_ = false;
}

void Doorbell::timer_event(int) {
    timed_ = false;
    listener_.on_timeout();
}

}  // namespace anello::zeromq
