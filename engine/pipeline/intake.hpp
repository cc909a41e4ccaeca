// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "memory/persistent_buffers.hpp"
#include "receive/fragment_block.hpp"
#include "receive/make_backend.hpp"
#include "receive/receive_config.hpp"
#include "receive/unpacker.hpp"

namespace anello::pipeline {

struct IntakeConfig {
    receive::BackendConfig backend;                  ///< one stream and board each
    std::vector<receive::UnpackerConfig> unpackers;  ///< beside the ports
    receive::StreamConfig stream;
    std::vector<receive::SourceAddress> sources;  ///< beside the ports; empty: the first that speaks
    receive::BlockShape shape;
    std::uint32_t n_buffers = 64;
    memory::Kind memory = memory::Kind::host;

    receive::StreamConfig stream_config(std::size_t index) const {
        receive::StreamConfig config = stream;
        if (index < sources.size()) config.source = sources[index];
        return config;
    }
};

}  // namespace anello::pipeline
