// SPDX-License-Identifier: Apache-2.0
#include "receive/card/make_backend.hpp"

#include <arpa/inet.h>
#include <pcap/pcap.h>
#include <sys/socket.h>

#include <array>
#include <bit>
#include <functional>

#include "core/errors.hpp"
#include "core/kernel_handle.hpp"
#include "core/keys.hpp"
#include "receive/datagrams/socket_backend.hpp"
#include "receive/frames/pcap_backend.hpp"
#include "receive/nanet/nanet_backend.hpp"
#include "receive/nanet/nanet_interface.hpp"
#include "receive/xdp/xdp_backend.hpp"
#ifdef ANELLO_IO_URING
#include "receive/datagrams/uring_backend.hpp"
#endif

namespace anello::receive {
namespace {

namespace backend_table {

using C = BackendConfig;
using K = Key<C>;

constexpr std::array keys{
    K::of<&C::kind>(
        "backend",
        "How datagrams are received: from sockets, by recvmmsg or io_uring; from an interface, by AF_XDP; from a "
        "capture file; through the simulated network card. `anello doctor` shows which of them work on this machine."),
    K::of<&C::interface>("interface", Limits{}.entries(1, 15), "Backend af_xdp: the network interface."),
    K::of<&C::address>("host", not_empty,
                       "Local address to listen on; 0.0.0.0: all, ::: all over IPv4 and IPv6; the address of a "
                       "multicast group: the group is joined."),
    K::of<&C::group_interface>("group_interface", Limits{}.entries(0, 15),
                               "Backends socket and io_uring, with a multicast group: the interface of its datagrams; "
                               "empty: by the system's routes. The other backends join by receive.interface."),
    K::of<&C::group_source>(
        "group_source", "With a multicast group: the only accepted sender (SSM, IGMPv3 or MLDv2); empty: any (ASM)."),
    K::of<&C::pcap_file>("pcap_file",
                         "Backend pcap: the file to read. Backend nanet: the file whose frames the card gets; empty: "
                         "it gets datagrams of sockets."),
    K::of<&C::pcap_speed>(
        "pcap_speed", {0, fastest_capture},
        "Backends pcap and nanet: speed of the file's replay; 1: as recorded, 0: as fast as possible."),
    K::of<&C::nanet_interface>("nanet_interface", Limits{}.entries(0, 15),
                               "Backend nanet: the network interface whose frames the card gets unchanged; empty: "
                               "those of pcap_file, or datagrams of sockets. Needs CAP_NET_RAW."),
    K::of<&C::nanet_library>("nanet_library",
                             "Backend nanet: the card's model, a shared library; empty: the one that `anello nanet "
                             "library` makes in the source tree."),
    K::of<&C::nanet_gathering_cycles>("nanet_gathering_cycles", {0, 100'000},
                                      "Backend nanet: longest time from the first record of a buffer until the card "
                                      "hands the buffer on, cycles of 6.4 ns; 0: after each record.")
        .for_experts(),
    K::of<&C::nanet_merge>("nanet_merge",
                           "Backend nanet, for a chain of one node that merges fragments by time: true: the card "
                           "merges them, by the keys of the section build; false: the chain does."),
    K::of<&C::nanet_timeout_cycles>(
        "nanet_timeout_cycles", {0, (1 << 30) - 1},
        "With nanet_merge: time after which a board that the card waits for is silent, cycles of 6.4 ns; 0: "
        "build.timeout_ms, by the card's clock, which is some hundred times slower than real time.")
        .for_experts(),
    K::of<&C::gro>("gro", "Receives several datagrams of one board at a time from the kernel (UDP_GRO)."),
    K::of<&C::batch_datagrams>("batch_datagrams", {1, max_batch_datagrams},
                               "Maximum number of datagrams per system call.")
        .for_experts(),
    K::of<&C::busy_poll_us>("busy_poll_us", {0, 10'000},
                            "Backends socket and af_xdp: a thread that looks for datagrams polls the card's queue for "
                            "this time, us, with the card's interrupts off (SO_BUSY_POLL), for threads that spin; 0: "
                            "never. Needs CAP_NET_ADMIN and a card: no effect on loopback and virtual links."),
    K::of<&C::socket_buffer_bytes>("socket_buffer_bytes", {4096, largest_receive_buffer_bytes},
                                   "Kernel receive buffer requested per port; the size granted is reported."),
};

}  // namespace backend_table

constexpr Nanoseconds patience_ns = 500'000'000;
constexpr std::size_t trial_buffer_bytes = std::size_t{1} << 20;

std::unique_ptr<Backend> make_uring(const BackendConfig& config) {
#ifdef ANELLO_IO_URING
    return std::make_unique<UringBackend>(
        UringBackendConfig{.address = config.address,
                           .group = {config.group_interface, config.group_source},
                           .ports = config.ports,
                           .gro = config.gro,
                           .slots_per_stream = 2 * std::bit_ceil(config.batch_datagrams),
                           .receive_buffer_bytes = config.socket_buffer_bytes});
#else
    (void)config;
    throw ConfigError("receive.backend", "must be one that was built", "io_uring",
                      "Install liburing-dev (2.3 or newer) and build again, or use socket.");
#endif
}

std::string& default_nanet_library() {
    static std::string path;
    return path;
}

SocketBackendConfig socket_config(const BackendConfig& config) {
    return {.address = config.address,
            .group = {config.group_interface, config.group_source},
            .ports = config.ports,
            .gro = config.gro,
            .batch_messages = config.batch_datagrams,
            .receive_buffer_bytes = config.socket_buffer_bytes,
            .notes = config.notes,
            .busy_poll_us = config.busy_poll_us};
}

/// The caller expects datagrams, but a card that merges gives events.
void refuse_merged(const BackendConfig& config) {
    if (!config.nanet_merge) return;
    throw ConfigError("receive.nanet_merge",
                      "must be false for this chain, which takes datagrams: the merging card gives events, for a chain "
                      "of one node that merges fragments by time",
                      "true", "Set it to false: then the chain builds its events itself.");
}

/// Refuses keys that would have no effect.
void refuse_group_keys_without_a_group(const BackendConfig& config) {
    const SocketAddress address = parse_address(config.address);
    const bool is_group = address.family() != AF_UNSPEC && address.is_group();
    const auto check = [&](const char* key, const std::string& value) {
        if (value.empty() || is_group) return;
        throw ConfigError(key, "must be empty unless receive.host is a multicast group", value,
                          "Set receive.host to the group's address, 224.0.0.0 to 239.255.255.255, or ff00::/8.");
    };
    check("receive.group_interface", config.group_interface);
    check("receive.group_source", config.group_source);
}

/// These backends understand only IPv4 headers.
void refuse_ip6_of_frames(const BackendConfig& config) {
    if (config.address.find(':') == std::string::npos) return;  // contains ':' also for fe80::1%eth0
    throw ConfigError("receive.host", "must be an IPv4 address with a backend that takes whole frames", config.address,
                      "Set receive.backend = \"socket\" or \"io_uring\" for IPv6.");
}

/// Sends itself a datagram over the loopback. Returns empty text if it arrived.
std::string take_one(Backend& backend) {
    const Descriptor sender(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(backend.port(0));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sendto(sender.number(), "anello", 6, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    const Clock& clock = SystemClock::instance();
    std::array<Datagram, 4> batch;
    for (const Nanoseconds begin_ns = clock.monotonic_ns(); clock.monotonic_ns() - begin_ns < patience_ns;)
        if (backend.receive(batch) > 0) return {};
    return "a datagram over the loopback did not arrive";
}

/// `attempt` returns the fault as text, or throws it.
BackendInfo probe(const char* name, const char* mode, const std::function<std::string()>& attempt) {
    std::string reason;
    try {
        reason = attempt();
    } catch (const std::exception& error) {
        reason = error.what();
    }
    const bool available = reason.empty();
    return {.name = name, .available = available, .reason = std::move(reason), .mode = available ? mode : ""};
}

BackendConfig trial_of(BackendKind kind, const std::string& interface, bool gro) {
    BackendConfig config;
    config.kind = kind;
    config.interface = interface;
    config.ports = {0};
    config.gro = gro;
    config.socket_buffer_bytes = trial_buffer_bytes;
    return config;
}

}  // namespace

constinit const Keys<BackendConfig> backend_keys{"receive", "Datagrams from the network, or from a file.",
                                                 backend_table::keys};

const char* name_of(BackendKind kind) noexcept {
    return word_of(kind);
}

std::unique_ptr<Backend> make_backend(const BackendConfig& config, const Clock& clock, CounterPage* page) {
    refuse_merged(config);
    refuse_group_keys_without_a_group(config);
    if (config.make) return config.make(config);
    switch (config.kind) {
        case BackendKind::io_uring:
            return make_uring(config);
        case BackendKind::af_xdp:
            refuse_ip6_of_frames(config);
            return std::make_unique<XdpBackend>(XdpBackendConfig{.interface = config.interface,
                                                                 .address = config.address,
                                                                 .group = {config.interface, config.group_source},
                                                                 .ports = config.ports,
                                                                 .busy_poll_us = config.busy_poll_us});
        case BackendKind::pcap:
            return std::make_unique<PcapBackend>(PcapBackendConfig{.path = config.pcap_file,
                                                                   .ports = config.ports,
                                                                   .speed = config.pcap_speed,
                                                                   .datagram_length = config.datagram_length},
                                                 clock, page);
        case BackendKind::nanet:
            return std::make_unique<NanetBackend>(
                NanetBackendConfig{.library = nanet_library(config), .gathering_cycles = config.nanet_gathering_cycles},
                make_nanet_frames(config, clock), page);
        case BackendKind::socket:
            break;
    }
    return std::make_unique<SocketBackend>(socket_config(config));
}

void set_nanet_library(const std::string& path) {
    default_nanet_library() = path;
}

std::string nanet_library(const BackendConfig& config) {
    return config.nanet_library.empty() ? default_nanet_library() : config.nanet_library;
}

std::unique_ptr<NanetFrames> make_nanet_frames(const BackendConfig& config, const Clock& clock) {
    if (!config.nanet_interface.empty() && !config.pcap_file.empty())
        throw ConfigError("receive.nanet_interface", "must be empty where receive.pcap_file names a file",
                          config.nanet_interface,
                          "The card gets its frames from one source: leave one of the two keys empty.");
    if (!config.nanet_interface.empty()) refuse_ip6_of_frames(config);
    if (!config.nanet_interface.empty())
        return std::make_unique<InterfaceNanetFrames>(
            InterfaceNanetConfig{.interface = config.nanet_interface,
                                 .address = config.address,
                                 .ports = config.ports,
                                 .receive_buffer_bytes = config.socket_buffer_bytes});
    if (config.pcap_file.empty()) return std::make_unique<UdpNanetFrames>(socket_config(config));
    return std::make_unique<CaptureNanetFrames>(config.pcap_file, config.ports, config.pcap_speed, clock);
}

std::vector<BackendInfo> probe_backends(const std::string& interface) {
    const Clock& clock = SystemClock::instance();
    const auto take_by = [&](BackendKind kind) {
        return [&, kind] { return take_one(*make_backend(trial_of(kind, "lo", false), clock)); };
    };
    std::vector<BackendInfo> found;
    found.push_back(probe("socket", "recvmmsg", take_by(BackendKind::socket)));
    found.push_back(probe("socket+gro", "recvmmsg, super-packets", []() -> std::string {
        SocketBackend backend({.address = "127.0.0.1", .ports = {0}, .receive_buffer_bytes = trial_buffer_bytes});
        return backend.socket(0).has_gro() ? take_one(backend) : "this kernel has no UDP_GRO (Linux 5.0 has it)";
    }));
    found.push_back(probe("io_uring", "multishot recvmsg", take_by(BackendKind::io_uring)));
    found.push_back(probe("af_xdp", "the driver or the stack copies; the start of a run shows in which mode",
                          [&] { return XdpBackend::try_without_attaching(interface), std::string(); }));
    found.push_back(probe("pcap", pcap_lib_version(), [] { return std::string(); }));
    found.push_back(probe("nanet", "the card's sources, simulated", take_by(BackendKind::nanet)));
    return found;
}

}  // namespace anello::receive
