// SPDX-License-Identifier: Apache-2.0
#include "stream/stream.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/errors.hpp"
#include "stream/control_socket.hpp"
#include "stream/fabric_handshake.hpp"
#include "stream/handshake.hpp"

namespace anello::stream {
namespace {

constexpr std::array<ListenerCounter, 9> counter_of_refusal{
    ListenerCounter::accepted,          ListenerCounter::refused_silent,  ListenerCounter::refused_gone,
    ListenerCounter::refused_malformed, ListenerCounter::refused_version, ListenerCounter::refused_direction,
    ListenerCounter::refused_ring,      ListenerCounter::refused_user,    ListenerCounter::refused_key};

Nanoseconds deadline_after(Nanoseconds timeout_ns) noexcept {
    const Nanoseconds now_ns = SystemClock::instance().monotonic_ns();
    return timeout_ns > no_deadline_ns - now_ns ? no_deadline_ns : now_ns + timeout_ns;
}

/// Checks the listener's user first, since any program may have taken the address: an unknown one gets no data.
Descriptor connect_to_known(const std::string& place, const StreamConfig& config, Nanoseconds deadline_ns) {
    Descriptor socket = connect_to(place, deadline_ns);
    if (!of_known_user(socket, config.allowed_users))
        throw ConfigError("address", "must be listened at by our own user, by root or by an allowed user", place,
                          "Find out who took this address (ss -xlp); allow_users names other users to be trusted");
    return socket;
}

/// Requires keys, since anyone who reaches a network address can listen or connect there.
void require_keys(const StreamAddress& address, const StreamConfig& config) {
    const bool is_open = address.transport && !is_loopback(address) && config.keys == nullptr && !config.without_keys;
    if (is_open)
        throw ConfigError("keys", "must be given for an address that other machines reach", to_text(address),
                          "anello exchange --make-keys DIR makes some for both sides; without_keys, where everybody in "
                          "this network is trusted");
}

std::unique_ptr<Stream> make_stream(StreamEnds hands, const StreamConfig& config, Counters<StreamCounter> counters) {
    return std::make_unique<Stream>(std::move(hands.send), std::move(hands.receive), config, counters);
}

}  // namespace

std::unique_ptr<Stream> connect(const std::string& address, const StreamConfig& config,
                                Counters<StreamCounter> counters) {
    validate(config);
    const Nanoseconds deadline_ns = deadline_after(config.connect_ns);
    const StreamAddress place = parse_address(address);
    require_keys(place, config);
    Handshake done = place.transport
                         ? shake_hands_over_fabric(connect_to(place, deadline_ns), *place.transport,
                                                   FabricSide::connector, config, deadline_ns, counters)
                         : shake_hands(connect_to_known(place.place, config, deadline_ns), config, deadline_ns);
    if (done.refusal != Refusal::none)
        throw ConfigError("address", fmt::format("no stream was established: {}", done.reason), address,
                          "Check that the side that listens is of this version, runs, and goes the other way");
    return make_stream(std::move(done.hands), config, counters);
}

Listener::Listener(const std::string& address, const StreamConfig& config, Counters<ListenerCounter> counters)
    : config_((validate(config), config)), address_(parse_address(address)), counters_(counters) {
    require_keys(address_, config_);
    listening_ = address_.transport ? listen_on(address_) : listen_at(address_.place);
    if (!address_.transport && !config_.allowed_users.empty()) let_users_knock(address_.place);
}

Listener::~Listener() {
    if (listening_.open() && !address_.transport) unlink_address(address_.place);
}

std::unique_ptr<Stream> Listener::accept(Counters<StreamCounter> counters, Nanoseconds timeout_ns) {
    const Nanoseconds deadline_ns = deadline_after(timeout_ns);
    for (;;) {
        Descriptor stranger = accept_one(listening_, deadline_ns);
        if (!stranger.open()) return nullptr;
        if (!address_.transport && !of_known_user(stranger, config_.allowed_users)) {
            counters_.add(ListenerCounter::refused_user);
            continue;
        }
        Handshake done = meet(std::move(stranger), counters);
        counters_.add(counter_of_refusal.at(static_cast<std::size_t>(done.refusal)));
        if (done.refusal == Refusal::none) return make_stream(std::move(done.hands), config_, counters);
    }
}

Handshake Listener::meet(Descriptor stranger, Counters<StreamCounter> counters) {
    const Nanoseconds until_ns = deadline_after(config_.handshake_ns);
    if (!address_.transport) return shake_hands(std::move(stranger), config_, until_ns);
    return shake_hands_over_fabric(std::move(stranger), *address_.transport, FabricSide::listener, config_, until_ns,
                                   counters);
}

}  // namespace anello::stream
