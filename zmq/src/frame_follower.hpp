// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace anello::zeromq {

/// Follows the frames of ZMTP 3 (rfc.zeromq.org/spec/23, "Framing"): flags, then a length of one byte or eight, then a
/// body. A reader that takes at most may_read() bytes at once never takes a byte of the next frame.
class FrameFollower {
  public:
    std::uint64_t may_read() const noexcept { return n_left_; }

    void follow(const unsigned char* bytes, std::size_t n_bytes) noexcept {
        for (const unsigned char* const end = bytes + n_bytes; bytes != end;) {
            if (part_ == Part::body) {
                const auto n_body = std::min<std::uint64_t>(n_left_, static_cast<std::uint64_t>(end - bytes));
                bytes += n_body;
                n_left_ -= n_body;
                if (n_left_ == 0) begin(Part::flags, 1);
            } else if (part_ == Part::flags) {
                constexpr unsigned char long_length = 0x02;
                length_ = 0;
                begin(Part::length, (*bytes++ & long_length) != 0 ? 8 : 1);
            } else {
                length_ = length_ << 8 | *bytes++;
                if (--n_left_ == 0) length_ == 0 ? begin(Part::flags, 1) : begin(Part::body, length_);
            }
        }
    }

    /// Length of a whole frame whose body has this length.
    static constexpr std::size_t frame_bytes(std::size_t body_bytes) noexcept {
        return body_bytes + (body_bytes > 255 ? 9 : 2);
    }

  private:
    enum class Part : std::uint8_t { flags, length, body };

    void begin(Part part, std::uint64_t n_bytes) noexcept {
        part_ = part;
        n_left_ = n_bytes;
    }

    Part part_ = Part::flags;
    std::uint64_t n_left_ = 1;
    std::uint64_t length_ = 0;
};

}  // namespace anello::zeromq
