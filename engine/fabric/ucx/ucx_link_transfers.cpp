// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "core/errors.hpp"
#include "fabric/ucx/ucx_link.hpp"
#include "fabric/ucx/ucx_log.hpp"

namespace anello::fabric {
namespace {

ucp_request_param_t with_callback(ucp_send_nbx_callback_t callback, void* argument) noexcept {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.send = callback;
    params.user_data = argument;
    return params;
}

}  // namespace

ucp_rkey_h UcxLink::unpack(std::span<const std::byte> remote_key) {
    const QuietUcx quiet;
    ucp_rkey_h key = nullptr;
    const ucs_status_t status =
        endpoint_ == nullptr ? UCS_ERR_NOT_CONNECTED : ucp_ep_rkey_unpack(endpoint_, remote_key.data(), &key);
    if (status != UCS_OK)
        throw ConfigError("key", "must be of memory that this transport reaches", ucs_status_string(status),
                          "Attach when the peer is up, with the key of this connection's peer");
    return key;
}

// Hot path: no allocation, no lock, no log, no throw.
Status UcxLink::put(ucp_rkey_h key, std::uint64_t address, std::span<const std::byte> from, std::uint64_t signal,
                    std::uint64_t token) noexcept {
    if (!up()) return Status::peer_down;
    UcxSlot* const slot = has_window() ? take_slot(token, UcxSlot::Stage::putting) : nullptr;
    if (slot == nullptr) {
        shared_.counters.add(FabricCounter::busy);
        return Status::busy;
    }
    slot->is_message = false;
    slot->signal = signal;
    slot->n_awaited = 1;
    if (!from.empty()) {
        const ucp_request_param_t params = with_callback(&UcxLink::on_put, slot);
        void* const request = ucp_put_nbx(endpoint_, from.data(), from.size(), address, key, &params);
        if (UCS_PTR_IS_ERR(request)) return not_taken(*slot, UCS_PTR_STATUS(request));
        if (request != nullptr) {
            ++slot->n_awaited;
            ++n_in_ucx_;
        }
    }
    slot->sequence = next_sequence_++;
    shared_.counters.add(FabricCounter::puts);
    shared_.counters.add(FabricCounter::put_bytes, from.size());
    unflushed_.push(slot);
    flush_if_due();
    return Status::ok;
}

void UcxLink::on_put(void* request, ucs_status_t status, void* argument) {
    UcxSlot& slot = *static_cast<UcxSlot*>(argument);
    UcxLink& link = *slot.link;
    ucp_request_free(request);
    --link.n_in_ucx_;
    if (link.abandoned_) return;
    if (status != UCS_OK) {
        link.fail();
    } else if (slot.stage == UcxSlot::Stage::putting) {
        link.advance_put(slot);
    } else {
        link.finish(slot, Status::ok);
    }
}

/// UCX promises no order between a put and a message, which may even use different transports. So a signal is sent only
/// when a flush has reported that the data arrived; one flush serves all puts made before it began.
void UcxLink::flush_if_due() noexcept {
    while (!flushing_ && !unflushed_.empty() && up()) {
        flushing_ = true;
        n_flushing_ = unflushed_.size();
        const ucp_request_param_t params = with_callback(&UcxLink::on_flushed, this);
        ++n_in_ucx_;
        void* const request = ucp_ep_flush_nbx(endpoint_, &params);
        if (UCS_PTR_IS_PTR(request)) return;
        flushed(request == nullptr);
    }
}

void UcxLink::on_flushed(void* request, ucs_status_t status, void* argument) {
    UcxLink& link = *static_cast<UcxLink*>(argument);
    ucp_request_free(request);
    link.flushed(status == UCS_OK);
    link.flush_if_due();
}

void UcxLink::flushed(bool whole) noexcept {
    --n_in_ucx_;
    flushing_ = false;
    if (abandoned_) return;
    if (!whole) {
        fail();
        return;
    }
    for (; n_flushing_ > 0; --n_flushing_) advance_put(*unflushed_.pop());
}

void UcxLink::advance_put(UcxSlot& slot) noexcept {
    if (--slot.n_awaited == 0 && up()) send_signal(slot);
}

void UcxLink::send_signal(UcxSlot& slot) noexcept {
    slot.stage = UcxSlot::Stage::sending;
    const std::size_t n_header =
        write_header(slot.header, UcxKind::signal, slot.sequence, std::as_bytes(std::span(&slot.signal, 1)));
    ucp_request_param_t params = with_callback(&UcxLink::on_sent, &slot);
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_AM_SEND_FLAG_EAGER;
    void* const request = ucp_am_send_nbx(endpoint_, ucx_message_id, slot.header.data(), n_header, nullptr, 0, &params);
    if (UCS_PTR_IS_ERR(request))
        fail();
    else if (request == nullptr)
        finish(slot, Status::ok);
    else
        ++n_in_ucx_;
}

Status UcxLink::get(ucp_rkey_h key, std::uint64_t address, std::span<std::byte> to, std::uint64_t token) noexcept {
    if (!up()) return Status::peer_down;
    UcxSlot* const slot = take_slot(token, UcxSlot::Stage::getting);
    if (slot == nullptr) {
        shared_.counters.add(FabricCounter::busy);
        return Status::busy;
    }
    slot->is_message = false;
    void* request = nullptr;
    if (!to.empty()) {
        const ucp_request_param_t params = with_callback(&UcxLink::on_put, slot);
        request = ucp_get_nbx(endpoint_, to.data(), to.size(), address, key, &params);
    }
    if (UCS_PTR_IS_ERR(request)) return not_taken(*slot, UCS_PTR_STATUS(request));
    if (request == nullptr)
        finish(*slot, Status::ok);
    else
        ++n_in_ucx_;
    shared_.counters.add(FabricCounter::gets);
    shared_.counters.add(FabricCounter::get_bytes, to.size());
    return Status::ok;
}

}  // namespace anello::fabric
