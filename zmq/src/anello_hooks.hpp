// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

#include <string>

/// The functions that the patched libzmq calls. Its own files include this header, so it must be valid C++11.
namespace zmq {
class i_engine;
struct options_t;
struct endpoint_uri_pair_t;
}  // namespace zmq

namespace anello {
namespace zeromq {

/// False if ZMQ_ANELLO_RING=0: the library then behaves like the distribution's libzmq.
bool ring_enabled();

/// Makes the engine of a ZMTP connection over this socket: a RingEngine on a unix socket, libzmq's own on any other.
/// Returns null if memory is short.
zmq::i_engine* new_zmtp_engine(int socket, const zmq::options_t& options, const zmq::endpoint_uri_pair_t& endpoints);

/// Returns "ring://path" for "ipc://path".
std::string as_ring_uri(const std::string& ipc_uri);

/// Returns memory for a message's header, directly followed by its data, which begin at a multiple of 64 bytes.
/// Returns null if the message is too small or too large for the pool, or if there is no pool or no memory.
void* try_take_memory(size_t header_bytes, size_t data_bytes);
/// Gives back the `memory` that try_take_memory() returned. This is a zmq_free_fn; any thread may call it.
void give_memory_back(void* data, void* memory);

}  // namespace zeromq
}  // namespace anello
