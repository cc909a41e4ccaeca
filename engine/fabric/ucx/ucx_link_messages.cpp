// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/ucx/ucx_link.hpp"

// Hot path: no allocation, no lock, no log, no throw.
namespace anello::fabric {
namespace {

// Up to this size UCX sends a payload at once and we copy it to its place; a larger one is fetched straight to its
// place. PERF NOTE: sent at once, 8 kB over shared memory are 3 times as fast, and 16 kB over TCP twice, between
// processes. A larger limit would be as fast over shared memory, but a sender that dies while it copies into our queue
// blocks the queue.
constexpr std::size_t eager_bytes = 65536, eager_bytes_in_memory = 8192;

ucp_request_param_t with_callback(ucp_send_nbx_callback_t callback, void* argument, std::uint32_t flags) noexcept {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    params.cb.send = callback;
    params.user_data = argument;
    params.flags = flags;
    return params;
}

}  // namespace

// --- Sending --------------------------------------------------------------------------------------------------------
std::size_t UcxLink::write_header(std::span<std::byte> to, UcxKind kind, std::uint32_t sequence,
                                  std::span<const std::byte> body) const noexcept {
    const UcxHeader header{.farm_id = shared_.config.farm_id,
                           .link = number_,
                           .sequence = sequence,
                           .sender = shared_.config.self,
                           .kind = kind,
                           .body_bytes = static_cast<std::uint8_t>(body.size())};
    std::memcpy(to.data(), &header, sizeof header);
    if (!body.empty()) std::memcpy(to.data() + sizeof header, body.data(), body.size());
    return sizeof header + body.size();
}

UcxSlot* UcxLink::take_slot(std::uint64_t token, UcxSlot::Stage stage) noexcept {
    UcxSlot* const slot = free_slot_;
    if (slot == nullptr) return nullptr;
    free_slot_ = slot->next;
    slot->token = token;
    slot->stage = stage;
    return slot;
}

void UcxLink::give_slot(UcxSlot& slot) noexcept {
    slot.stage = UcxSlot::Stage::free;
    slot.next = std::exchange(free_slot_, &slot);
}

/// UCX did not take it: the caller may try again, or the peer is lost.
Status UcxLink::not_taken(UcxSlot& slot, ucs_status_t status) noexcept {
    give_slot(slot);
    if (status != UCS_ERR_NO_MEMORY && status != UCS_ERR_NO_RESOURCE) {
        fail();
        return Status::peer_down;
    }
    shared_.counters.add(FabricCounter::busy);
    return Status::busy;
}

void UcxLink::finish(UcxSlot& slot, Status status) noexcept {
    slot.stage = UcxSlot::Stage::finished;
    slot.status = status;
    shared_.done.push(&slot);
}

Status UcxLink::send(std::span<const std::byte> header, std::span<const std::byte> payload,
                     std::uint64_t token) noexcept {
    if (!up()) return Status::peer_down;
    UcxSlot* const slot = has_window() ? take_slot(token, UcxSlot::Stage::sending) : nullptr;
    if (slot == nullptr) {
        shared_.counters.add(FabricCounter::busy);
        return Status::busy;
    }
    slot->is_message = true;
    const std::size_t n_header = write_header(slot->header, UcxKind::message, next_sequence_, header);
    const bool rendezvous = payload.size() > (sees_death_ ? eager_bytes : eager_bytes_in_memory) && may_rendezvous_;
    const ucp_request_param_t params =
        with_callback(&UcxLink::on_sent, slot, rendezvous ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER);
    void* const request = ucp_am_send_nbx(endpoint_, ucx_message_id, slot->header.data(), n_header, payload.data(),
                                          payload.size(), &params);
    if (UCS_PTR_IS_ERR(request)) return not_taken(*slot, UCS_PTR_STATUS(request));
    if (request == nullptr)
        finish(*slot, Status::ok);
    else
        ++n_in_ucx_;
    ++next_sequence_;
    shared_.counters.add(FabricCounter::messages_sent);
    shared_.counters.add(FabricCounter::message_bytes_sent, payload.size());
    return Status::ok;
}

void UcxLink::on_sent(void* request, ucs_status_t status, void* argument) {
    UcxSlot& slot = *static_cast<UcxSlot*>(argument);
    UcxLink& link = *slot.link;
    ucp_request_free(request);
    --link.n_in_ucx_;
    if (link.abandoned_) return;
    if (status != UCS_OK) link.fail();
    link.finish(slot, status == UCS_OK ? Status::ok : Status::peer_down);
}

/// Sends a control message outside the sequence. It may get lost: hello and heartbeat are repeated, and an
/// acknowledgement stays due. Returns false if UCX does not take it now.
bool UcxLink::say(UcxKind kind, std::uint32_t sequence, std::span<const std::byte> body) noexcept {
    const auto control = std::find_if(controls_.begin(), controls_.end(), [](const Control& one) { return !one.busy; });
    if (control == controls_.end() || endpoint_ == nullptr) return false;
    const std::size_t n_header = write_header(control->bytes, kind, sequence, body);
    const ucp_request_param_t params = with_callback(&UcxLink::on_said, &*control, UCP_AM_SEND_FLAG_EAGER);
    void* const request =
        ucp_am_send_nbx(endpoint_, ucx_message_id, control->bytes.data(), n_header, nullptr, 0, &params);
    if (UCS_PTR_IS_ERR(request)) return false;
    control->busy = request != nullptr;
    n_in_ucx_ += control->busy ? 1 : 0;
    return true;
}

Status UcxLink::tell(std::span<const std::byte> header) noexcept {
    if (!up()) return Status::peer_down;
    if (!say(UcxKind::word, 0, header)) return Status::busy;
    shared_.counters.add(FabricCounter::messages_sent);
    return Status::ok;
}

void UcxLink::on_said(void* request, ucs_status_t, void* argument) {
    Control& control = *static_cast<Control*>(argument);
    UcxLink& link = *control.link;
    ucp_request_free(request);
    control.busy = false;
    --link.n_in_ucx_;
    if (!link.abandoned_) link.acknowledge_if_due();
}

// --- Receiving ------------------------------------------------------------------------------------------------------
ucs_status_t UcxLink::on_sequenced(const UcxHeader& header, std::span<const std::byte> body, void* data,
                                   std::size_t n_bytes, bool rendezvous) noexcept {
    heard_ = true;
    become_up();  // a peer that sends us messages has received our hello
    const std::uint32_t ahead = header.sequence - expected_;
    Arrival& arrival = arrivals_[header.sequence & (arrivals_.size() - 1)];
    if (ahead >= arrivals_.size() || (n_arrived_ > 0 && arrival.stage != Arrival::Stage::empty) ||
        n_bytes > (header.kind == UcxKind::message ? shared_.config.max_message_bytes : 0)) {
        break_off();
        return UCS_OK;
    }
    if (ahead == 0 && !rendezvous && shared_.may_tell) {
        receive_next(header, body, data, n_bytes);
        return UCS_OK;
    }
    ++n_arrived_;
    arrival.kind = header.kind;
    arrival.discarded = false;
    arrival.payload = {};
    arrival.body_bytes = header.body_bytes;
    if (!body.empty()) std::memcpy(arrival.body.data(), body.data(), body.size());
    arrival.stage = Arrival::Stage::ready;
    if (n_bytes > 0) place_message(arrival, data, n_bytes, rendezvous);
    const bool fetches = arrival.stage != Arrival::Stage::ready;
    shared_.has_ready = true;
    if (shared_.may_tell) tell_ready();
    return fetches ? UCS_INPROGRESS : UCS_OK;
}

/// If there is no room, the oldest is dropped, because a later one replaces it.
void UcxLink::on_word(std::span<const std::byte> body) noexcept {
    heard_ = true;
    become_up();
    if (n_words_ == words_.size()) {
        std::shift_left(words_.begin(), words_.end(), 1);
        --n_words_;
        shared_.counters.add(FabricCounter::messages_discarded);
    }
    Word& word = words_[n_words_++];
    word.n_bytes = static_cast<std::uint8_t>(body.size());
    std::memcpy(word.bytes.data(), body.data(), body.size());
    shared_.has_ready = true;
    if (shared_.may_tell) tell_ready();
}

/// The listener may cause more of them to arrive while it handles one; they are reported in their turn.
void UcxLink::tell_words() noexcept {
    while (n_words_ > 0 && up()) {
        const Word word = words_.front();
        std::shift_left(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(n_words_--), 1);
        tell_message(std::span(word.bytes).first(word.n_bytes), {}, false);
    }
}

/// The common case: the message is the next in the sequence, and complete.
void UcxLink::receive_next(const UcxHeader& header, std::span<const std::byte> body, const void* data,
                           std::size_t n_bytes) noexcept {
    std::span<std::byte> place;
    if (n_bytes > 0) place = ask_for_place(body, n_bytes);
    const bool discarded = place.size() < n_bytes;
    if (!discarded && n_bytes > 0) std::memcpy(place.data(), data, n_bytes);
    ++expected_;
    if (header.kind == UcxKind::signal)
        tell_signal(body);
    else
        tell_message(body, discarded ? std::span<std::byte>{} : place.first(n_bytes), discarded);
    tell_arrivals();
}

std::span<std::byte> UcxLink::ask_for_place(std::span<const std::byte> body, std::size_t n_bytes) noexcept {
    const bool may_tell = std::exchange(shared_.may_tell, false);
    const std::span<std::byte> place = shared_.listener.place(peer_, body, n_bytes);
    shared_.may_tell = may_tell;
    return place;
}

void UcxLink::place_message(Arrival& arrival, void* data, std::size_t n_bytes, bool rendezvous) noexcept {
    const std::span<std::byte> place = ask_for_place({arrival.body.data(), arrival.body_bytes}, n_bytes);
    arrival.discarded = place.size() < n_bytes;
    if (arrival.discarded) return;
    arrival.payload = place.first(n_bytes);
    if (rendezvous)
        begin_receive(arrival, data, arrival.payload);
    else
        std::memcpy(place.data(), data, n_bytes);
}

void UcxLink::begin_receive(Arrival& arrival, void* data, std::span<std::byte> place) noexcept {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.recv_am = &UcxLink::on_received;
    params.user_data = &arrival;
    arrival.stage = Arrival::Stage::receiving;
    ++n_in_ucx_;
    ++n_receiving_;
    void* const request = ucp_am_recv_data_nbx(shared_.worker.handle(), data, place.data(), place.size(), &params);
    if (!UCS_PTR_IS_PTR(request)) received(arrival, request == nullptr);
}

void UcxLink::on_received(void* request, ucs_status_t status, std::size_t, void* argument) {
    Arrival& arrival = *static_cast<Arrival*>(argument);
    ucp_request_free(request);
    arrival.link->received(arrival, status == UCS_OK);
}

void UcxLink::received(Arrival& arrival, bool whole) noexcept {
    --n_in_ucx_;
    --n_receiving_;
    heard_ = heard_ || whole;  // the peer's heartbeats queue after what it sends
    arrival.stage = Arrival::Stage::ready;
    if (abandoned_) return;
    // Fetched from the peer's memory, perhaps after this process paused and the peer had given it up.
    if (!whole || (!sees_death_ && shared_.paused())) {
        arrival.discarded = true;  // the sender counts it as failed
        fail();
        return;
    }
    shared_.has_ready = true;
    if (shared_.may_tell) tell_ready();
}

void UcxLink::tell_ready() noexcept {
    if (!up()) return;
    if (!std::exchange(told_up_, true)) {
        shared_.counters.add(FabricCounter::peers_up);
        shared_.tell([&](Listener& listener) { listener.on_peer(peer_, PeerState::up); });
    }
    tell_words();
    tell_arrivals();
}

void UcxLink::tell_arrivals() noexcept {
    while (n_arrived_ > 0 && up()) {
        Arrival& next = arrivals_[expected_ & (arrivals_.size() - 1)];
        if (next.stage != Arrival::Stage::ready) break;
        const Arrival arrival = next;  // a copy: its place may be used again while the listener runs
        next.stage = Arrival::Stage::empty;
        --n_arrived_;
        ++expected_;
        const std::span body(arrival.body.data(), arrival.body_bytes);
        if (arrival.kind == UcxKind::signal)
            tell_signal(body);
        else
            tell_message(body, arrival.payload, arrival.discarded);
    }
    acknowledge_if_due();
}

void UcxLink::tell_signal(std::span<const std::byte> body) noexcept {
    std::uint64_t signal = 0;
    std::memcpy(&signal, body.data(), sizeof signal);
    shared_.counters.add(FabricCounter::signals_received);
    shared_.tell([&](Listener& listener) { listener.on_signal(peer_, signal); });
}

void UcxLink::tell_message(std::span<const std::byte> body, std::span<std::byte> payload, bool discarded) noexcept {
    if (discarded) {
        shared_.counters.add(FabricCounter::messages_discarded);
        ++shared_.n_things;
        return;
    }
    shared_.counters.add(FabricCounter::messages_received);
    shared_.counters.add(FabricCounter::message_bytes_received, payload.size());
    shared_.tell([&](Listener& listener) { listener.on_message(peer_, body, payload); });
}

void UcxLink::acknowledge_if_due() noexcept {
    if (expected_ - told_to_peer_ < arrivals_.size() / 4 || failed()) return;
    if (say(UcxKind::acknowledge, expected_)) told_to_peer_ = expected_;
}

}  // namespace anello::fabric
