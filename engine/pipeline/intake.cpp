// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake.hpp"

#include "receive/pcap_backend.hpp"
#include "receive/socket_backend.hpp"

namespace anello::pipeline {

std::unique_ptr<receive::Backend> make_backend(const IntakeConfig& intake, const Clock& clock) {
    if (intake.backend == BackendKind::pcap)
        return std::make_unique<receive::PcapBackend>(
            receive::PcapBackendConfig{.path = intake.pcap_file, .ports = intake.ports, .speed = intake.pcap_speed},
            clock);
    return std::make_unique<receive::SocketBackend>(
        receive::SocketBackendConfig{.address = intake.host,
                                     .ports = intake.ports,
                                     .gro = intake.gro,
                                     .batch_messages = intake.batch_datagrams,
                                     .receive_buffer_bytes = intake.socket_buffer_bytes});
}

}  // namespace anello::pipeline
