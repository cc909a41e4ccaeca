// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/tcp_frame.hpp"

#include <algorithm>
#include <cstring>

namespace anello::fabric {
namespace {

/// After a payload of at least this size the next one is likely long, too: then the reader takes only its head into the
/// staging area, and reads the rest straight to its place. Shorter frames share a system call.
constexpr std::size_t long_payload_bytes = 16384;
constexpr std::size_t largest_head_bytes = sizeof(FrameHead) + max_header_bytes;

}  // namespace

bool well_formed(const FrameHead& head, std::size_t max_message_bytes) noexcept {
    if (head.zero != 0 || (head.header_bytes != 0 && head.kind != FrameKind::message)) return false;
    const bool no_region = head.region == 0 && head.offset == 0;
    switch (head.kind) {
        case FrameKind::message:
            return no_region && head.tag == 0 && head.status == Status::ok && head.header_bytes <= max_header_bytes &&
                   head.payload_bytes <= max_message_bytes;
        case FrameKind::put:
            return head.status == Status::ok;
        case FrameKind::get:
            return head.status == Status::ok && head.payload_bytes == 0;
        case FrameKind::done:
            return no_region && head.tag == 0 &&
                   (head.status == Status::ok || (head.status == Status::refused && head.payload_bytes == 0));
        case FrameKind::heartbeat:
            return no_region && head.tag == 0 && head.status == Status::ok && head.payload_bytes == 0;
    }
    return false;
}

void FrameReader::reset(Peer from) noexcept {
    begin_ = end_ = 0;
    head_ = {};
    inside_ = false;
    from_ = from;
}

std::array<iovec, 2> FrameReader::room() noexcept {
    const bool long_ones = head_.payload_bytes >= long_payload_bytes;
    if (inside_ && destination_ != nullptr)
        return {{{destination_ + n_payload_, head_.payload_bytes - n_payload_},
                 {staging_.get(), long_ones ? largest_head_bytes : staging_bytes}}};
    // There is always room after a head, because an incomplete head was moved to the front.
    const std::size_t n_bytes = long_ones && !inside_ ? largest_head_bytes : staging_bytes - end_;
    return {{{staging_.get() + end_, n_bytes}, {nullptr, 0}}};
}

bool FrameReader::take(std::size_t n_bytes) noexcept {
    if (inside_ && destination_ != nullptr) {
        const std::size_t n_direct = std::min<std::uint64_t>(n_bytes, head_.payload_bytes - n_payload_);
        n_payload_ += n_direct;
        n_bytes -= n_direct;
    }
    end_ += n_bytes;
    return consume();
}

bool FrameReader::consume() noexcept {
    for (;;) {
        if (!inside_) {
            const Begin begin = try_begin();
            if (begin != Begin::begun) return begin == Begin::incomplete;
        }
        take_payload(std::min<std::uint64_t>(end_ - begin_, head_.payload_bytes - n_payload_));
        if (n_payload_ < head_.payload_bytes) {
            begin_ = end_ = 0;
            return true;
        }
        inside_ = false;
        if (!sink_->end_frame(from_, head_, std::span(header_).first(head_.header_bytes), destination_)) return false;
    }
}

FrameReader::Begin FrameReader::try_begin() noexcept {
    const std::size_t n_there = end_ - begin_;
    FrameHead head;
    if (n_there >= sizeof head) std::memcpy(&head, staging_.get() + begin_, sizeof head);
    if (n_there >= sizeof head && !well_formed(head, max_message_bytes_)) return Begin::wrong;
    if (n_there < sizeof head || n_there < sizeof head + head.header_bytes) {
        std::memmove(staging_.get(), staging_.get() + begin_, n_there);
        begin_ = 0;
        end_ = n_there;
        return Begin::incomplete;
    }
    head_ = head;
    std::memcpy(header_.data(), staging_.get() + begin_ + sizeof head, head.header_bytes);
    begin_ += sizeof head + head.header_bytes;
    const FrameSink::Destination to = sink_->begin_frame(from_, head_, std::span(header_).first(head.header_bytes));
    if (!to.accepted) return Begin::wrong;
    destination_ = to.begin;
    n_payload_ = 0;
    inside_ = true;
    return Begin::begun;
}

void FrameReader::take_payload(std::size_t n_bytes) noexcept {
    if (destination_ != nullptr && n_bytes > 0)
        std::memcpy(destination_ + n_payload_, staging_.get() + begin_, n_bytes);
    begin_ += n_bytes;
    n_payload_ += n_bytes;
}

}  // namespace anello::fabric
