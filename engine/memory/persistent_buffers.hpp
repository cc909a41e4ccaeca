// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "memory/spsc_ring.hpp"

namespace anello::memory {

/// Where buffers live. `huge` asks for 2 MB pages and falls back to transparent huge pages, then to plain pages;
/// `pinned` asks CUDA for page-locked memory and falls back to plain pages. `small`: pages of usual size, no more of
/// them than it takes, and none before it is used, for many of which little is used. kind() says what was obtained;
/// `given` is the caller's own memory. `device`: on a CUDA device; nothing here may touch it, and only what writes
/// there fills it: copies of the device's, or a card that can (GPUDirect). Where there is none, SystemError.
enum class Kind : std::uint8_t { host, huge, pinned, small, given, device };

inline constexpr std::array kind_words{"host", "huge", "pinned"};  ///< that a configuration can ask for
Kind parse_kind(const std::string& text, const std::string& key);  ///< Throws ConfigError.
const char* name_of(Kind kind) noexcept;

struct BuffersConfig {
    std::uint32_t n_buffers = 16;
    std::size_t buffer_bytes = 0;  ///< rounded up to a cache line
    Kind kind = Kind::host;
    std::span<std::byte> given = {};  ///< the caller's memory, aligned to 64 bytes, which outlives them; empty: none
};

/// N buffers of one size in one region, taken once and touched at set-up (but small ones): a list of persistent buffers
/// in the sense of NaNet's CLOP. A buffer is a number, 0..n-1. Its owner is one side at a time: the producer takes it
/// free and gives it away full; the consumer gives it back. The way forward (completions) belongs to the stage, which
/// knows what a full buffer means; the way back is the free ring in here: one consumer gives back, one producer takes.
class PersistentBuffers {
  public:
    explicit PersistentBuffers(const BuffersConfig& config);  ///< Throws ConfigError, SystemError.
    ~PersistentBuffers();
    PersistentBuffers(const PersistentBuffers&) = delete;
    PersistentBuffers& operator=(const PersistentBuffers&) = delete;

    std::uint32_t n_buffers() const noexcept { return n_buffers_; }
    std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
    Kind kind() const noexcept { return kind_; }
    /// Why the kind differs from the one asked for; empty when it does not.
    const std::string& kind_note() const noexcept { return kind_note_; }

    std::span<std::byte> bytes(std::uint32_t buffer) noexcept {
        return {region_ + static_cast<std::size_t>(buffer) * buffer_bytes_, buffer_bytes_};
    }

    bool try_take_free(std::uint32_t& buffer) noexcept { return free_.try_take(buffer); }  ///< Producer's thread.
    void give_back(std::uint32_t buffer) noexcept;                                         ///< Consumer's thread.
    std::size_t n_free() const noexcept { return free_.size(); }

  private:
    std::byte* use_given(std::span<std::byte> memory);
    std::byte* take_on_device();
    std::byte* take_huge();  ///< Null where there are none.
    std::byte* take_plain();

    std::uint32_t n_buffers_;
    std::size_t buffer_bytes_;
    Kind kind_;
    std::string kind_note_;
    std::byte* region_ = nullptr;
    std::size_t region_bytes_ = 0;
    SpscRing<std::uint32_t> free_;
};

}  // namespace anello::memory
