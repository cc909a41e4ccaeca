// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "memory/persistent_buffers.hpp"
#include "receive/backend.hpp"
#include "receive/fragment_block.hpp"
#include "receive/receive_config.hpp"
#include "receive/unpacker.hpp"

namespace anello::pipeline {

enum class BackendKind : std::uint8_t { socket, pcap };

struct IntakeConfig {
    BackendKind backend = BackendKind::socket;
    std::string host = "127.0.0.1";
    std::vector<std::uint16_t> ports;                ///< one stream and board each; 0: any free one
    std::vector<receive::UnpackerConfig> unpackers;  ///< beside the ports
    bool gro = true;
    std::uint32_t batch_datagrams = 32;
    std::size_t socket_buffer_bytes = std::size_t{64} << 20;
    std::string pcap_file;
    double pcap_speed = 1;  ///< 1: as recorded, 0: as fast as it goes

    receive::StreamConfig stream;
    receive::BlockShape shape;
    std::uint32_t n_buffers = 64;
    memory::Kind memory = memory::Kind::host;
};

std::unique_ptr<receive::Backend> make_backend(const IntakeConfig& intake,
                                               const Clock& clock);  ///< Throws ConfigError, SystemError.

}  // namespace anello::pipeline
