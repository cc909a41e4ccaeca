// SPDX-License-Identifier: Apache-2.0
// The same in C++: `stream receive @example` and `stream send @example`; either side may be the Python one.
#include <array>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <stream/stream.hpp>
#include <string>
#include <vector>

namespace stream = anello::stream;

namespace {

void send(const std::string& address, anello::Counters<stream::StreamCounter> counters) {
    const auto outgoing = stream::connect(address, {}, counters);
    std::vector<double> values(1000);
    for (int number = 0; number < 1000; ++number) {
        values.assign(values.size(), number);
        if (outgoing->send_message(std::as_bytes(std::span(values))) != stream::StreamStatus::ok) return;
    }
}

void receive(const std::string& address, anello::Counters<stream::StreamCounter> counters) {
    anello::CounterPage page;
    stream::Listener listener(address, {}, page.add_block<stream::ListenerCounter>("listener"));
    const auto incoming = listener.accept(counters);
    std::size_t n_messages = 0;
    double total = 0;
    stream::ConstBytes message;
    while (incoming->peek_message(message) == stream::StreamStatus::ok) {
        const auto* const first = reinterpret_cast<const double*>(message.data());  // 8-byte aligned, by contract
        total = std::accumulate(first, first + message.size() / sizeof(double), total);
        ++n_messages;
        incoming->release_message();
    }
    std::printf("%zu messages, sum %.0f\n", n_messages, total);
}

}  // namespace

int main(int n_arguments, char** arguments) try {
    if (n_arguments != 3) throw std::invalid_argument("stream send|receive ADDRESS");
    anello::CounterPage page;
    const auto counters = page.add_block<stream::StreamCounter>("stream");
    if (std::string(arguments[1]) == "send")
        send(arguments[2], counters);
    else
        receive(arguments[2], counters);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
