// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "memory/spsc_ring.hpp"

namespace anello::memory {

/// Where buffers lie. `huge` requests 2 MB pages and falls back to transparent huge pages, then to plain pages.
/// `pinned` requests page-locked memory from CUDA and falls back to plain pages. `small` takes plain pages only as they
/// are used, for many buffers of which few are used. `given` is the caller's own memory. `device` is memory of a CUDA
/// device, which the CPU must not touch; only device copies or a card with GPUDirect write it, and without a device the
/// constructor throws SystemError. kind() returns what was obtained.
enum class Kind : std::uint8_t { host, huge, pinned, small, given, device };

inline constexpr std::array kind_words{"host", "huge", "pinned"};  ///< the kinds that a configuration can request
Kind parse_kind(const std::string& text, const std::string& key);  ///< Throws ConfigError.
const char* name_of(Kind kind) noexcept;

struct BuffersConfig {
    std::uint32_t n_buffers = 16;
    std::size_t buffer_bytes = 0;  ///< rounded up to a cache line
    Kind kind = Kind::host;
    std::span<std::byte> given = {};  ///< the caller's memory, 64-byte aligned, must outlive the buffers; empty: none
};

/// N buffers of equal size in one region, allocated and touched once at set-up (except `small`): a list of persistent
/// buffers in the sense of NaNet's CLOP. A buffer is a number, 0..n-1, with one owner at a time: the producer takes it
/// free and hands it over full, the consumer gives it back. The stage provides the way forward (completions), because
/// it knows what a full buffer means. The way back is the free ring in here, with one consumer that gives and one
/// producer that takes.
class PersistentBuffers {
  public:
    explicit PersistentBuffers(const BuffersConfig& config);  ///< Throws ConfigError, SystemError.
    ~PersistentBuffers();
    PersistentBuffers(const PersistentBuffers&) = delete;
    PersistentBuffers& operator=(const PersistentBuffers&) = delete;

    std::uint32_t n_buffers() const noexcept { return n_buffers_; }
    std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
    Kind kind() const noexcept { return kind_; }
    /// Why the kind differs from the requested one; empty if it does not.
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
    std::byte* take_huge();  ///< Null if there are no huge pages.
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
