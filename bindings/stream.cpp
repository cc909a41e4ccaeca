// SPDX-License-Identifier: Apache-2.0
#include "stream/stream.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "counters.hpp"
#include "module.hpp"

namespace anello::bindings {

namespace nb = nanobind;

namespace {

using stream::StreamStatus;

/// Ctrl-C ends a wait; the call then raises its exception.
bool signal_came() noexcept {
    const nb::gil_scoped_acquire held;
    return PyErr_CheckSignals() != 0;
}

/// The bytes of any contiguous Python object, kept alive by this.
class PyBytes {
  public:
    PyBytes(nb::handle object, int flags) {
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
    }
    ~PyBytes() { PyBuffer_Release(&view_); }
    PyBytes(const PyBytes&) = delete;
    PyBytes& operator=(const PyBytes&) = delete;

    stream::Bytes bytes() const noexcept {
        return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

  private:
    Py_buffer view_{};
};

/// Admits one thread at a time for each direction, since two would corrupt the ring.
class OneAtATime {
  public:
    OneAtATime(std::atomic<bool>& busy, const char* what) : busy_(busy) {
        if (busy_.exchange(true)) throw std::runtime_error(std::string("another thread ") + what + " already");
    }
    ~OneAtATime() { busy_ = false; }
    OneAtATime(const OneAtATime&) = delete;
    OneAtATime& operator=(const OneAtATime&) = delete;

  private:
    std::atomic<bool>& busy_;
};

struct PyStream {
    CounterPage page;
    Counters<stream::StreamCounter> counters = page.add_block<stream::StreamCounter>("stream");
    std::unique_ptr<stream::Stream> stream;
    std::atomic<bool> sending{false}, receiving{false}, letting_go{false};

    OneAtATime as_sender() {
        wait_until_let_go();
        return {sending, "sends"};
    }
    OneAtATime as_receiver() {
        wait_until_let_go();
        return {receiving, "receives"};
    }

    /// Called after a call that found an end: releases memory and descriptors of a finished stream before Python's
    /// garbage collector does. If the other direction's thread is busy, that thread does it.
    void let_go_if_over() {
        if (sending.exchange(true)) return;
        if (!receiving.exchange(true)) {
            if (stream->is_over()) let_go();
            receiving = false;
        }
        sending = false;
    }
    /// Arrays in the ring keep its memory. Over a network the last bytes are sent meanwhile.
    void let_go() {
        send_memory = receive_memory = {};
        letting_go = true;
        {
            const nb::gil_scoped_release released;
            stream->let_go();
        }
        letting_go = false;
    }
    /// Waits for another thread that releases the memory, which ends soon; its call is not a second one at a time.
    void wait_until_let_go() const {
        while (letting_go) {
            const nb::gil_scoped_release released;
            std::this_thread::yield();
        }
    }

    nb::object send_memory, receive_memory;  ///< keep the rings mapped for arrays, made on demand
};

struct PyListener {
    PyListener(const std::string& address, const stream::StreamConfig& config)
        : counters(page.add_block<stream::ListenerCounter>("listener")), listener(address, config, counters) {}
    CounterPage page;
    Counters<stream::ListenerCounter> counters;
    stream::Listener listener;
};

constexpr bool is_end(StreamStatus status) noexcept {
    return status == StreamStatus::closed || status == StreamStatus::peer_died || status == StreamStatus::corrupt;
}
StreamStatus status_of(StreamStatus status) noexcept {
    return status;
}
StreamStatus status_of(stream::Transfer done) noexcept {
    return done.status;
}

template <typename Step>
auto without_gil(Step step) {
    auto result = [&] {
        const nb::gil_scoped_release released;
        return step();
    }();
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return result;
}

/// A step on the data path by the thread of one direction (as_sender, as_receiver), and its result for Python.
template <typename Step, typename Tell>
auto take_turn(PyStream& self, OneAtATime (PyStream::*as)(), Step step, Tell tell) {
    StreamStatus status{};
    auto told = [&] {
        const OneAtATime only = (self.*as)();
        const auto result = without_gil(step);
        status = status_of(result);
        return tell(result);
    }();
    if (is_end(status)) self.let_go_if_over();
    return told;
}

nb::tuple pair_of(stream::Transfer done) {
    return nb::make_tuple(stream::name_of(done.status), done.n_bytes);
}

/// A Python object that keeps a ring mapped.
nb::object keeper_of(std::shared_ptr<const void> memory) {
    if (memory == nullptr) return nb::none();
    using Held = std::shared_ptr<const void>;
    return nb::capsule(new Held(std::move(memory)), [](void* held) noexcept { delete static_cast<Held*>(held); });
}
/// An array of the ring's own memory, which keeps the ring mapped, but neither the stream nor its data.
nb::object array_of(PyStream& self, stream::ConstBytes bytes) {
    if (!self.receive_memory.is_valid()) self.receive_memory = keeper_of(self.stream->receive_memory());
    return nb::cast(nb::ndarray<nb::numpy, const std::uint8_t>(bytes.data(), {bytes.size()}, self.receive_memory));
}
nb::object array_of(PyStream& self, stream::Bytes bytes) {
    if (!self.send_memory.is_valid()) self.send_memory = keeper_of(self.stream->send_memory());
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(bytes.data(), {bytes.size()}, self.send_memory));
}

nb::tuple send(PyStream& self, nb::handle object, Nanoseconds timeout_ns) {
    const PyBytes given(object, PyBUF_SIMPLE);
    return take_turn(
        self, &PyStream::as_sender, [&] { return self.stream->send(given.bytes(), timeout_ns); }, pair_of);
}

nb::str send_message(PyStream& self, nb::handle object, Nanoseconds timeout_ns) {
    const PyBytes given(object, PyBUF_SIMPLE);
    return take_turn(
        self, &PyStream::as_sender, [&] { return self.stream->send_message(given.bytes(), timeout_ns); },
        [](StreamStatus status) { return nb::str(stream::name_of(status)); });
}

nb::tuple reserve(PyStream& self, std::size_t n_bytes, Nanoseconds timeout_ns) {
    stream::Bytes room;
    return take_turn(
        self, &PyStream::as_sender, [&] { return self.stream->reserve(n_bytes, room, timeout_ns); },
        [&](StreamStatus status) { return nb::make_tuple(stream::name_of(status), array_of(self, room)); });
}

void commit(PyStream& self, std::size_t n_bytes) {
    const OneAtATime only = self.as_sender();
    if (n_bytes > self.stream->reserved_bytes())
        throw std::invalid_argument("commit: " + std::to_string(n_bytes) + " bytes are more than the " +
                                    std::to_string(self.stream->reserved_bytes()) + " reserved");
    self.stream->commit(n_bytes);
}

nb::tuple recv_into(PyStream& self, nb::handle object, bool all, Nanoseconds timeout_ns) {
    const PyBytes room(object, PyBUF_WRITABLE);
    const auto receive = [&] {
        return all ? self.stream->recv_all(room.bytes(), timeout_ns) : self.stream->recv(room.bytes(), timeout_ns);
    };
    return take_turn(self, &PyStream::as_receiver, receive, pair_of);
}

nb::tuple peek(PyStream& self, std::size_t n_bytes, Nanoseconds timeout_ns) {
    stream::ConstBytes found;
    return take_turn(
        self, &PyStream::as_receiver, [&] { return self.stream->peek(found, n_bytes, timeout_ns); },
        [&](StreamStatus status) { return nb::make_tuple(stream::name_of(status), array_of(self, found)); });
}

void release(PyStream& self, std::size_t n_bytes) {
    const OneAtATime only = self.as_receiver();
    if (n_bytes > self.stream->readable_bytes())
        throw std::invalid_argument("release: " + std::to_string(n_bytes) + " bytes are more than the " +
                                    std::to_string(self.stream->readable_bytes()) + " peeked at");
    self.stream->release(n_bytes);
}

nb::tuple peek_message(PyStream& self, Nanoseconds timeout_ns) {
    stream::ConstBytes message;
    return take_turn(
        self, &PyStream::as_receiver, [&] { return self.stream->peek_message(message, timeout_ns); },
        [&](StreamStatus status) { return nb::make_tuple(stream::name_of(status), array_of(self, message)); });
}

void release_message(PyStream& self) {
    const OneAtATime only = self.as_receiver();
    self.stream->release_message();
}

/// finish: ends our direction; close: also accepts nothing more from the peer; abandon: ends without a message. Returns
/// the number of bytes that were not sent to a peer over the network.
std::uint64_t end(PyStream& self, const std::string& how) {
    const OneAtATime only_sender = self.as_sender();
    if (how == "finish") {
        self.stream->finish();
        return 0;
    }
    const OneAtATime only_receiver = self.as_receiver();
    how == "abandon" ? self.stream->abandon() : self.stream->close();
    if (!self.stream->has_memory()) return 0;
    self.let_go();
    return how == "close" ? self.counters[stream::StreamCounter::bytes_left_behind] : 0;
}

stream::Key key_of(const nb::bytes& given) {
    stream::Key key{};
    if (given.size() != key.size()) throw std::invalid_argument("a key has 32 bytes");
    std::memcpy(key.data(), given.data(), key.size());
    return key;
}

std::shared_ptr<const stream::StreamKeys> make_keys(const nb::bytes& own_public, const nb::bytes& own_secret,
                                                    const std::vector<nb::bytes>& allowed) {
    auto keys = std::make_shared<stream::StreamKeys>();
    keys->own_public = key_of(own_public);
    keys->own_secret = key_of(own_secret);
    for (const nb::bytes& one : allowed) keys->allowed.push_back(key_of(one));
    return keys;
}

stream::StreamConfig make_config(std::size_t ring_bytes, std::size_t grain_bytes, std::size_t max_peer_ring_bytes,
                                 const std::string& direction, const std::string& wait, Nanoseconds spin_ns,
                                 Nanoseconds connect_ns, Nanoseconds handshake_ns, Nanoseconds peer_timeout_ns,
                                 const std::string& carry, const std::string& ucx_tls,
                                 const std::vector<uid_t>& allowed_users,
                                 std::shared_ptr<const stream::StreamKeys> keys, bool without_keys) {
    stream::StreamConfig config;
    config.ring_bytes = ring_bytes;
    config.grain_bytes = grain_bytes;
    config.max_peer_ring_bytes = max_peer_ring_bytes;
    config.direction = stream::parse_direction(direction);
    config.wait = stream::parse_wait_mode(wait);
    config.spin_ns = spin_ns;
    config.connect_ns = connect_ns;
    config.handshake_ns = handshake_ns;
    config.peer_timeout_ns = peer_timeout_ns;
    config.carry = stream::parse_carry(carry);
    config.ucx_tls = ucx_tls;
    config.allowed_users = allowed_users;
    config.keys = std::move(keys);
    config.without_keys = without_keys;
    config.interrupted = signal_came;
    return config;
}

std::unique_ptr<PyStream> connect(const std::string& address, const stream::StreamConfig& config) {
    auto made = std::make_unique<PyStream>();
    const nb::gil_scoped_release released;
    made->stream = stream::connect(address, config, made->counters);
    return made;
}

/// Null if no peer connected in time.
std::unique_ptr<PyStream> accept(PyListener& self, Nanoseconds timeout_ns) {
    auto made = std::make_unique<PyStream>();
    constexpr Nanoseconds slice_ns = 100'000'000;  // between looks for Ctrl-C
    for (Nanoseconds left_ns = timeout_ns;;) {
        {
            const nb::gil_scoped_release released;
            made->stream = self.listener.accept(made->counters, std::min(left_ns, slice_ns));
        }
        if (made->stream != nullptr) return made;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (left_ns <= slice_ns) return nullptr;
        if (left_ns != stream::no_deadline_ns) left_ns -= slice_ns;
    }
}

}  // namespace

void bind_stream(nb::module_& module) {
    nb::class_<stream::StreamConfig>(module, "StreamConfig");
    nb::class_<stream::StreamKeys>(module, "StreamKeys");
    module.def("stream_keys", &make_keys, nb::kw_only(), nb::arg("own_public"), nb::arg("own_secret"),
               nb::arg("allowed"));
    module.def("stream_config", &make_config, nb::kw_only(), nb::arg("ring_bytes"), nb::arg("grain_bytes"),
               nb::arg("max_peer_ring_bytes"), nb::arg("direction"), nb::arg("wait"), nb::arg("spin_ns"),
               nb::arg("connect_ns"), nb::arg("handshake_ns"), nb::arg("peer_timeout_ns"), nb::arg("carry"),
               nb::arg("ucx_tls"), nb::arg("allowed_users"), nb::arg("keys").none(), nb::arg("without_keys"));
    module.attr("no_deadline_ns") = stream::no_deadline_ns;
    nb::class_<PyStream>(module, "Stream")
        .def("send", &send, nb::arg("data"), nb::arg("timeout_ns"))
        .def("send_message", &send_message, nb::arg("message"), nb::arg("timeout_ns"))
        .def("reserve", &reserve, nb::arg("n_bytes"), nb::arg("timeout_ns"))
        .def("commit", &commit, nb::arg("n_bytes"))
        .def("recv_into", &recv_into, nb::arg("room"), nb::arg("all"), nb::arg("timeout_ns"))
        .def("peek", &peek, nb::arg("n_bytes"), nb::arg("timeout_ns"))
        .def("release", &release, nb::arg("n_bytes"))
        .def("peek_message", &peek_message, nb::arg("timeout_ns"))
        .def("release_message", &release_message)
        .def("end", &end, nb::arg("how"))
        .def("fileno", [](PyStream& self) { return self.stream->data_descriptor(); })
        .def("space_fileno", [](PyStream& self) { return self.stream->space_descriptor(); })
        .def("largest_message", [](const PyStream& self) { return self.stream->largest_message(); })
        .def("readable_bytes", [](const PyStream& self) { return self.stream->readable_bytes(); })
        .def("counters", [](const PyStream& self) { return values_of(self.page.read()); });
    nb::class_<PyListener>(module, "StreamListener")
        .def(nb::init<const std::string&, const stream::StreamConfig&>(), nb::arg("address"), nb::arg("config"))
        .def("accept", &accept, nb::arg("timeout_ns"))
        .def("fileno", [](const PyListener& self) { return self.listener.descriptor(); })
        .def("address", [](const PyListener& self) { return self.listener.address(); })
        .def("counters", [](const PyListener& self) { return values_of(self.page.read()); });
    module.def("stream_connect", &connect, nb::arg("address"), nb::arg("config"));
}

}  // namespace anello::bindings
