// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

#include <string>

/// What the patches make libzmq ask. Read by libzmq's own files, which are C++11.
namespace zmq {
class i_engine;
struct options_t;
struct endpoint_uri_pair_t;
}  // namespace zmq

namespace anello {
namespace zeromq {

/// False when ZMQ_ANELLO_RING=0: the library then behaves as the distribution's.
bool ring_enabled();

/// The engine of a ZMTP connection over this socket: on a unix socket the one that offers a ring, else libzmq's own.
/// Null without memory.
zmq::i_engine* new_zmtp_engine(int socket, const zmq::options_t& options, const zmq::endpoint_uri_pair_t& endpoints);

/// "ipc://path" as "ring://path".
std::string as_ring_uri(const std::string& ipc_uri);

/// Memory for a message's header and its data right behind, which begin at a multiple of 64 bytes. Null: the message
/// is too small or too large for the pool, or there is none.
void* try_take_memory(size_t header_bytes, size_t data_bytes);
/// Any thread. A zmq_free_fn: `memory` is what try_take_memory gave.
void give_memory_back(void* data, void* memory);

}  // namespace zeromq
}  // namespace anello
