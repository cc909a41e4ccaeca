# SPDX-License-Identifier: Apache-2.0
# Included by libzmq's CMakeLists.txt where its sources are listed: Anello's engine, and of Anello itself only the ring.
set(anello_sources
    borrower.cpp copier.cpp doorbell.cpp hooks.cpp lender.cpp lent_memory.cpp message_pool.cpp ring_engine.cpp
    ring_handover.cpp ring_share.cpp settings.cpp socket_ends.cpp)
list(TRANSFORM anello_sources PREPEND ${ANELLO_ZMQ_DIR}/src/)
set(anello_ring_sources
    core/clock.cpp core/copy_ahead.cpp core/errors.cpp core/kernel_handle.cpp stream/receiver.cpp stream/ring/ring_bell.cpp
    stream/ring/ring_memory.cpp stream/sender.cpp)
list(TRANSFORM anello_ring_sources PREPEND ${ANELLO_ZMQ_DIR}/../engine/)
list(APPEND anello_sources ${anello_ring_sources})

# precompiled.hpp: what libzmq's headers expect to come first. Hidden: a program may load this library and Anello's own, of another version. fmt by its headers: no library more.
set_source_files_properties(${anello_sources} PROPERTIES
    COMPILE_OPTIONS "-std=gnu++20;-include;precompiled.hpp;-Wall;-Wextra;-fvisibility=hidden;-fvisibility-inlines-hidden"
    INCLUDE_DIRECTORIES "${ANELLO_ZMQ_DIR}/../engine;${CMAKE_CURRENT_SOURCE_DIR}/src"
    COMPILE_DEFINITIONS FMT_HEADER_ONLY)
include_directories(${ANELLO_ZMQ_DIR}/src)
list(APPEND sources ${anello_sources})
