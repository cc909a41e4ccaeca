// SPDX-License-Identifier: Apache-2.0
#include "exchange/messages/own_messages.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace anello::exchange {

using fabric::PeerState;
using fabric::Status;

OwnMessages::OwnMessages(std::unique_ptr<fabric::Fabric> inner, fabric::Peer self, std::uint32_t max_in_flight,
                         fabric::Listener& listener, std::size_t most_copied)
    : self_(self), most_copied_(most_copied), listener_(listener), own_(max_in_flight), inner_(std::move(inner)) {}

void OwnMessages::connect(fabric::Peer peer, std::span<const std::byte> address) {
    if (peer != self_) return inner_->connect(peer, address);
    state_ = PeerState::up;
    is_new_ = true;
}

void OwnMessages::disconnect(fabric::Peer peer) noexcept {
    if (peer != self_) return inner_->disconnect(peer);
    state_ = PeerState::absent;
    is_new_ = false;
}

// Hot path: no allocation, no lock, no log, no throw.
Status OwnMessages::send(fabric::Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                         std::uint64_t token) noexcept {
    if (to != self_) return inner_->send(to, header, payload, token);
    if (state_ != PeerState::up) return Status::peer_down;
    if (header.size() > fabric::max_header_bytes || payload.size() > max_message_bytes()) return Status::refused;
    Message message{
        .header_bytes = static_cast<std::uint8_t>(header.size()), .header = {}, .payload = payload, .token = token};
    if (!header.empty()) std::memcpy(message.header.data(), header.data(), header.size());
    return own_.try_push(message) ? Status::ok : Status::busy;
}

std::size_t OwnMessages::progress() noexcept {
    std::size_t n_things = inner_->progress();
    if (std::exchange(is_new_, false)) {
        listener_.on_peer(self_, PeerState::up);
        ++n_things;
    }
    for (std::size_t n_left = own_.size(); n_left > 0; --n_left, ++n_things) {
        const Message message = own_.take();
        if (state_ == PeerState::up) receive(message);
        listener_.on_done(self_, message.token, state_ == PeerState::up ? Status::ok : Status::peer_down);
    }
    return n_things;
}

void OwnMessages::receive(const Message& message) noexcept {
    const std::span header(message.header.data(), message.header_bytes);
    std::span<std::byte> place;
    if (!message.payload.empty()) {
        place = listener_.place(self_, header, message.payload.size());
        if (place.size() < message.payload.size()) return;
        std::memcpy(place.data(), message.payload.data(), std::min(message.payload.size(), most_copied_));
    }
    listener_.on_message(self_, header, place.first(message.payload.size()));
}

}  // namespace anello::exchange
