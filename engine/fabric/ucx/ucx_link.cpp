// SPDX-License-Identifier: Apache-2.0
#include "fabric/ucx/ucx_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/errors.hpp"
#include "fabric/peer_address.hpp"
#include "fabric/ucx/ucx_log.hpp"

namespace anello::fabric {
namespace {

/// Enough for a sender to continue while this process is not scheduled, and few enough for hundreds of links.
std::size_t n_arrivals(const FabricConfig& config) noexcept {
    constexpr std::uint32_t in_all = 65536, fewest = 256, most = 4096;
    const std::uint32_t share = std::clamp(in_all / config.n_peers, fewest, most);
    return std::bit_ceil(std::max(config.max_in_flight, share));
}

}  // namespace

UcxLink::UcxLink(UcxShared& shared, Peer peer, UcxAddress address)
    : shared_(shared),
      peer_(peer),
      number_(make_incarnation() | 1U),
      owner_(shared.owners.emplace_back(std::make_unique<UcxLink*>(this)).get()),
      address_(std::move(address)),
      since_ns_(shared.now_ns),
      last_heard_ns_(shared.now_ns),
      last_said_ns_(shared.now_ns),
      slots_(shared.config.max_in_flight),
      arrivals_(n_arrivals(shared.config)) {
    for (UcxSlot& slot : slots_) {
        slot.link = this;
        give_slot(slot);
    }
    for (Arrival& arrival : arrivals_) arrival.link = this;
    for (Control& control : controls_) control.link = this;
}

void UcxLink::begin() {
    if (peer_ < shared_.config.self) return;
    open();
    say_hello();
}

void UcxLink::open_if_asked() noexcept {
    if (!std::exchange(asked_, false) || failed()) return;
    try {
        open();
        say_hello();
    } catch (const ConfigError&) {  // no transport reaches that address
        fail();
    }
}

/// UCX itself watches the peer where its transports can. Shared memory cannot.
void UcxLink::open() {
    const QuietUcx quiet;
    QuietUcx::take_last_words();
    const std::vector<SocketName> before = ucx_sockets::connected_to(address_.listening);
    // UCX that is to watch the peer would choose TCP even within a host; our heartbeats make its watch unnecessary
    // there.
    const bool through_memory = shared_.config.ucx_tls.empty() && address_.host == host_number();
    ucs_status_t status = UCS_ERR_UNREACHABLE;
    if (!through_memory) status = try_open(UCP_ERR_HANDLING_MODE_PEER);
    find_our_ends(before, ucx_sockets::connected_to(address_.listening));
    if (status == UCS_ERR_UNREACHABLE || status == UCS_ERR_UNSUPPORTED) {
        sees_death_ = false;
        status = try_open(UCP_ERR_HANDLING_MODE_NONE);
    }
    if (status == UCS_OK) {
        choose_protocol();
        return;
    }
    endpoint_ = nullptr;
    // A dead process counts as a peer that does not answer; UCX also calls a refused connection unreachable.
    const std::string words = QuietUcx::take_last_words();
    if (status != UCS_ERR_UNREACHABLE || words.starts_with("connect(")) {
        fail();
        return;
    }
    throw ConfigError(
        "fabric.ucx_tls", fmt::format("must allow a transport that leads to peer {}: {}", peer_, words),
        shared_.config.ucx_tls.empty() ? "all" : shared_.config.ucx_tls,
        "Between hosts use tcp, and set fabric.host to this machine's address; memory reaches this host only");
}

void UcxLink::find_our_ends(std::span<const SocketName> before, std::span<const SocketName> after) {
    const std::vector<SocketName> made = ucx_sockets::added(before, after);
    std::copy_n(made.begin(), std::min(made.size(), our_ends_.size()), our_ends_.begin());
}

ucs_status_t UcxLink::try_open(ucp_err_handling_mode_t mode) noexcept {
    ucp_ep_params_t params{};
    params.field_mask =
        UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address_.worker.data());
    params.err_mode = mode;
    // Set in either mode: without a handler UCX ends the process when it cannot read the memory of a dead peer.
    params.err_handler.cb = &UcxLink::on_error;
    params.err_handler.arg = owner_;
    return ucp_ep_create(shared_.worker.handle(), &params, &endpoint_);
}

/// Without UCX's watch, a payload in pieces could keep arriving for ever, or long after the peer was given up. So such
/// a link fetches it in one operation (cma and similar transports), or lets UCX gather it first.
void UcxLink::choose_protocol() {
    const std::string chosen = lanes();
    const auto has = [&](std::string_view transport) { return chosen.find(transport) != std::string::npos; };
    may_rendezvous_ = sees_death_ || has("cma/") || has("knem/") || has("xpmem/");
}

/// UCX reports the lanes only as text: "#  lane[0]:  2:tcp/lo.0 md[1] ...".
std::string UcxLink::lanes() const {
    if (endpoint_ == nullptr) return {};
    char* text = nullptr;
    std::size_t n_bytes = 0;
    std::FILE* const stream = open_memstream(&text, &n_bytes);
    if (stream == nullptr) return {};
    ucp_ep_print_info(endpoint_, stream);
    std::fclose(stream);
    std::string_view rest(text, n_bytes);
    std::string chosen;
    for (std::size_t lane = rest.find("lane["); lane != std::string_view::npos; lane = rest.find("lane[")) {
        rest.remove_prefix(lane);
        const std::string_view line = rest.substr(0, rest.find('\n'));
        const std::size_t slash = line.find('/');
        const std::size_t begin = slash == std::string_view::npos ? slash : line.find_last_of(": ", slash);
        if (begin != std::string_view::npos) {
            const std::string_view name = line.substr(begin + 1, line.find_first_of(". ", slash) - begin - 1);
            if (chosen.find(name) == std::string::npos) chosen.append(chosen.empty() ? "" : " ").append(name);
        }
        rest.remove_prefix(line.size());
    }
    std::free(text);
    return chosen;
}

void UcxLink::on_error(void* owner, ucp_ep_h, ucs_status_t) {
    UcxLink* const link = *static_cast<UcxLink**>(owner);
    if (link == nullptr) return;
    link->broken_ = true;
    link->fail();
}

void UcxLink::fail() noexcept {
    if (abandoned_) return;
    phase_ = Phase::failed;
    shared_.has_failed = true;
}

void UcxLink::break_off() noexcept {
    shared_.counters.add(FabricCounter::malformed);
    fail();
}

void UcxLink::on_hello(const UcxHeader& header, const UcxHello& hello) noexcept {
    if (failed() || hello.sender_incarnation != address_.incarnation)
        return;                                  // a restarted peer: the caller will pass its new address to connect()
    if (up() && their_number_ != header.link) {  // the peer gave us up, and connects again
        fail();
        return;
    }
    if (hello.n_arrivals == 0) {
        break_off();
        return;
    }
    heard_ = true;
    their_number_ = header.link;
    their_arrivals_ = hello.n_arrivals;
    their_ends_ = hello.ends;
    if (endpoint_ == nullptr) {
        asked_ = shared_.has_ready = true;
        return;
    }
    if (hello.heard_link == number_) become_up();
    if (hello.is_up == 0) say_hello();
}

void UcxLink::say_hello() noexcept {
    const UcxHello hello{.sender_incarnation = shared_.incarnation,
                         .receiver_incarnation = address_.incarnation,
                         .heard_link = their_number_,
                         .is_up = up() ? 1U : 0U,
                         .n_arrivals = static_cast<std::uint32_t>(arrivals_.size()),
                         .ends = our_ends_};
    say(UcxKind::hello, 0, std::as_bytes(std::span(&hello, 1)));
}

void UcxLink::become_up() noexcept {
    if (phase_ != Phase::connecting) return;
    phase_ = Phase::up;
    last_heard_ns_ = shared_.now_ns;
    shared_.has_ready = true;
    if (shared_.may_tell) tell_ready();
}

void UcxLink::on_control(const UcxHeader& header) noexcept {
    heard_ = true;
    switch (header.kind) {
        case UcxKind::acknowledge:
            if (header.sequence - acknowledged_ > next_sequence_ - acknowledged_)
                break_off();
            else
                acknowledged_ = header.sequence;
            return;
        case UcxKind::bye:
            fail();
            return;
        default:
            return;
    }
}

void UcxLink::tick() noexcept {
    if (failed()) return;
    const Nanoseconds now_ns = shared_.now_ns;
    if (std::exchange(heard_, false)) last_heard_ns_ = now_ns;
    const bool too_long = up() ? now_ns - last_heard_ns_ >= shared_.config.silence_ns()
                               : now_ns - since_ns_ >= shared_.config.connect_timeout_ns;
    if (too_long) {
        fail();
        return;
    }
    if (now_ns - last_said_ns_ < shared_.config.heartbeat_ns) return;
    last_said_ns_ = now_ns;
    // Sent without a request: a request would queue after all that we send to the peer, for longer than it has to
    // answer.
    const bool some_waits =
        std::any_of(controls_.begin(), controls_.end(), [](const Control& one) { return one.busy; });
    if (!up())
        say_hello();
    else if (!some_waits)  // otherwise the waiting message acknowledges as much when it leaves
        say(UcxKind::heartbeat);
}

/// A live peer is notified, and all that we sent it earlier leaves first. Then this breaks the TCP connections, and UCX
/// closes those that it finds broken (ucx_sockets.hpp explains why).
bool UcxLink::may_close(bool silent) noexcept {
    if (broken_ || endpoint_ == nullptr) return true;
    if (!std::exchange(parting_, true) && !silent) {
        say(UcxKind::bye);
        if (sees_death_) drain();
    }
    if (draining_ && !silent) return false;
    return !sees_death_ || !break_connection();
}

/// False if there was nothing to break, or if UCX does not find it broken within some time.
bool UcxLink::break_connection() noexcept {
    if (!std::exchange(breaking_, true)) {
        broken_at_ns_ = shared_.now_ns;
        return ucx_sockets::break_between(shared_.worker.listening(), our_ends_, their_ends_) > 0;
    }
    return shared_.now_ns - broken_at_ns_ < shared_.config.heartbeat_ns;
}

void UcxLink::drain() noexcept {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.send = &UcxLink::on_drained;
    params.user_data = this;
    draining_ = UCS_PTR_IS_PTR(ucp_ep_flush_nbx(endpoint_, &params));
    n_in_ucx_ += draining_ ? 1 : 0;
}

void UcxLink::on_drained(void* request, ucs_status_t, void* link) {
    ucp_request_free(request);
    static_cast<UcxLink*>(link)->draining_ = false;
    --static_cast<UcxLink*>(link)->n_in_ucx_;
}

void UcxLink::force_close() noexcept {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* const closing = ucp_ep_close_nbx(endpoint_, &params);
    if (UCS_PTR_IS_PTR(closing)) ucp_request_free(closing);
}

bool UcxLink::try_close() noexcept {
    const bool silent = shared_.now_ns - last_heard_ns_ >= shared_.config.silence_ns();
    if (!closed_ && !may_close(silent)) return false;
    if (!std::exchange(closed_, true) && sees_death_ && endpoint_ != nullptr) force_close();
    // Without UCX's watch: a live peer takes or drops what is on its way. One that does not within the timeout gives
    // this process up by itself, before it reads anything again (UcxFabric::forgive_own_pause).
    if (n_receiving_ > 0 || (n_in_ucx_ > 0 && (sees_death_ || !silent))) return false;
    for (UcxSlot& slot : slots_)
        if (slot.stage != UcxSlot::Stage::free && slot.stage != UcxSlot::Stage::finished)
            finish(slot, Status::peer_down);
    for (Arrival& arrival : arrivals_) {
        if (arrival.stage == Arrival::Stage::ready && arrival.kind == UcxKind::message && !arrival.discarded)
            shared_.counters.add(FabricCounter::messages_discarded);
        arrival.stage = Arrival::Stage::empty;
    }
    abandon();
    return true;
}

}  // namespace anello::fabric
