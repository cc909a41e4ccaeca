// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake.hpp"

namespace anello::pipeline {

std::unique_ptr<receive::Backend> make_backend(const IntakeConfig& intake, const Clock& clock) {
    return receive::make_backend({.kind = intake.backend,
                                  .address = intake.host,
                                  .interface = intake.interface,
                                  .ports = intake.ports,
                                  .gro = intake.gro,
                                  .batch_datagrams = intake.batch_datagrams,
                                  .socket_buffer_bytes = intake.socket_buffer_bytes,
                                  .pcap_file = intake.pcap_file,
                                  .pcap_speed = intake.pcap_speed},
                                 clock);
}

}  // namespace anello::pipeline
