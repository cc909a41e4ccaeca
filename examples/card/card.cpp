// SPDX-License-Identifier: Apache-2.0
/// Receives whatever is sent to a UDP port, until it has been silent for 2 s: card [PORT]
#include "receive/card/card.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace anello::receive;

int main(int n_arguments, char** arguments) {
    Card card({.address = "0.0.0.0"});
    const auto port = static_cast<std::uint16_t>(n_arguments > 1 ? std::atoi(arguments[1]) : 0);
    Clop& stream = card.register_buffers({.port = port, .buffers = {.n_blocks = 64}});
    card.start();
    std::printf("listening on port %u\n", unsigned{stream.port()});
    std::fflush(stdout);
    unsigned long long n_datagrams = 0, n_bytes = 0;
    anello::Nanoseconds timeout_ns = 60'000'000'000;
    for (ClopBuffer buffer; stream.wait(buffer, timeout_ns); stream.give_back(buffer), timeout_ns = 2'000'000'000) {
        n_datagrams += buffer.datagrams.size();
        for (const DatagramRecord& datagram : buffer.datagrams) n_bytes += datagram.length_bytes;
    }
    card.stop();
    std::printf("%llu datagrams, %llu bytes\n", n_datagrams, n_bytes);
}
