// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "core/words.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/message.hpp"
#include "receive/nanet/nanet_frames.hpp"

namespace anello::receive {

enum class BackendKind : std::uint8_t { socket, io_uring, af_xdp, pcap, nanet };

const char* name_of(BackendKind kind) noexcept;

/// Configuration of all kinds of backends; each uses its part.
struct BackendConfig {
    // backend_keys explains those without a comment.
    BackendKind kind = BackendKind::socket;
    std::string address = "127.0.0.1";
    std::string group_interface = {};
    std::string group_source = {};
    std::string interface = "lo";
    std::vector<std::uint16_t> ports = {};  ///< one for each stream; 0: any free one
    bool gro = true;
    bool notes = true;  ///< receive stamps; without them a datagram costs a socket some 60 ns less (camera_receive)
    std::uint32_t batch_datagrams = 64;
    std::size_t socket_buffer_bytes = std::size_t{64} << 20;  ///< af_xdp: see XdpBackendConfig
    std::uint32_t busy_poll_us = 0;
    std::string pcap_file = {};
    double pcap_speed = 1;
    std::string nanet_library = {};
    std::string nanet_interface = {};
    std::uint32_t nanet_gathering_cycles = 200;
    bool nanet_merge = false;
    std::uint32_t nanet_timeout_cycles = 0;
    DatagramLength datagram_length = nullptr;  ///< pcap: see PcapBackendConfig
    /// Makes another backend than `kind`, for example a simulated network, with the streams of `ports`.
    std::function<std::unique_ptr<Backend>(const BackendConfig&)> make = nullptr;
};

extern const Keys<BackendConfig> backend_keys;

/// Throws ConfigError, also if this build lacks the backend, and SystemError. A backend with counters of its own adds
/// them to `page`, which must outlive it.
std::unique_ptr<Backend> make_backend(const BackendConfig& config, const Clock& clock, CounterPage* page = nullptr);

/// Set-up: the library of `nanet` backends whose configuration names none.
void set_nanet_library(const std::string& path);

/// The parts of a `nanet` backend for users of merged events (NanetMerger): its library and the origin of its frames.
/// Throws ConfigError, SystemError.
std::string nanet_library(const BackendConfig& config);
std::unique_ptr<NanetFrames> make_nanet_frames(const BackendConfig& config, const Clock& clock);

/// Whether a backend works on this machine.
struct BackendInfo {
    std::string name;  ///< the word in receive.backend; "socket+gro" is socket with receive.gro
    bool available;
    std::string reason;  ///< why it does not work
    std::string mode;    ///< how it would work
};

/// Tries each backend briefly: sockets with a datagram over the loopback, the others without affecting other traffic of
/// the interface (the kernel checks an XDP program, which is then not attached).
std::vector<BackendInfo> probe_backends(const std::string& interface);

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<const char*, 5> words_of<receive::BackendKind>{"socket", "io_uring", "af_xdp", "pcap",
                                                                           "nanet"};

}  // namespace anello
