// SPDX-License-Identifier: Apache-2.0
#include "fabric/ucx/ucx_devices.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/errors.hpp"
#include "fabric/inet_socket.hpp"
#include "fabric/ucx/ucx_wire.hpp"

namespace anello::fabric {
namespace {

std::string interface_with(in_addr address) {
    ifaddrs* found = nullptr;
    if (getifaddrs(&found) != 0)
        throw SystemError("cannot list the interfaces of this machine", errno, "Name one in fabric.ucx_net_devices");
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(found, &freeifaddrs);
    for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
        if (reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr == address.s_addr)
            return one->ifa_name;
    }
    return {};
}

/// Names as UCX writes them: "mlx5_0:1".
std::vector<std::string> cards_for_rdma() {
    namespace fs = std::filesystem;
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& card : fs::directory_iterator("/sys/class/infiniband", none))
        for (const auto& port : fs::directory_iterator(card.path() / "ports", none))
            names.push_back(card.path().filename().string() + ":" + port.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

/// Where there are cards for RDMA, they carry all the data.
bool is_data_on_tcp(const UcxDevices& chosen) {
    if (chosen.tls.empty() || chosen.tls == "all") return cards_for_rdma().empty();
    return chosen.tls.find("tcp") != std::string::npos && chosen.tls.front() != '^';
}

bool is_loopback(in_addr address) noexcept {
    return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

/// The loopback interface serves all of 127.0.0.0/8, though it lists only one of these addresses.
std::string interface_of(const std::string& host, in_addr address) {
    const in_addr listed{is_loopback(address) ? htonl(INADDR_LOOPBACK) : address.s_addr};
    const std::string name = interface_with(listed);
    if (name.empty())
        throw ConfigError("fabric.host", "must be an IPv4 address of this machine, by which peers reach it", host,
                          "`ip -4 addr` lists them; or name devices in fabric.ucx_net_devices");
    return name;
}

UcxDevices named_devices(const FabricConfig& config) {
    UcxDevices chosen{config.ucx_tls, config.ucx_net_devices};
    if (!chosen.net_devices.empty() || std::getenv("UCX_NET_DEVICES") != nullptr) return chosen;
    const in_addr address = parse_host(config.host);
    std::vector<std::string> names = cards_for_rdma();
    names.insert(names.begin(), interface_of(config.host, address));
    chosen.net_devices = fmt::format("{}", fmt::join(names, ","));
    if (chosen.tls.empty() && is_loopback(address) && std::getenv("UCX_TLS") == nullptr) chosen.tls = "^tcp";
    return chosen;
}

}  // namespace

bool bears_broken_connections(std::uint64_t version) noexcept {
    return version >= (std::uint64_t{1} << 32 | 22);
}

UcxDevices ucx_devices(const FabricConfig& config) {
    UcxDevices chosen = named_devices(config);
    if (!bears_broken_connections(ucx_version()) && is_data_on_tcp(chosen) &&
        std::getenv("UCX_ZCOPY_THRESH") == nullptr)
        chosen.zcopy_threshold = "inf";
    return chosen;
}

}  // namespace anello::fabric
