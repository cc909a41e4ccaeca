// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "core/clock.hpp"
#include "memory/persistent_buffers.hpp"
#include "memory/spsc_ring.hpp"

namespace anello::exchange {

/// An MFP in a buffer of the ring, ready to be sent.
struct FullMfp {
    std::uint64_t mep = 0;
    std::uint32_t buffer = 0;
    std::uint32_t length_bytes = 0;
};

/// Connects a source of MFPs (a readout card or its substitute) to the readout unit: full buffers go forward, empty
/// ones return. At most two threads use it: the source's and the readout unit's.
class MfpRing {
  public:
    static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

    explicit MfpRing(const memory::BuffersConfig& config) : buffers_(config), full_(config.n_buffers) {}

    std::uint32_t n_buffers() const noexcept { return buffers_.n_buffers(); }
    std::size_t n_free() const noexcept { return buffers_.n_free(); }  ///< only an estimate for other threads
    std::size_t buffer_bytes() const noexcept { return buffers_.buffer_bytes(); }
    std::span<std::byte> bytes(std::uint32_t buffer) noexcept { return buffers_.bytes(buffer); }

    // --- Source. Multi-event packets rise; those that it leaves out, it has nothing of.
    /// The first multi-event packet to be written; `never` until it is known.
    std::uint64_t first_mep() const noexcept { return first_mep_.load(std::memory_order_acquire); }  // begin_at()
    /// The first packet that need not be written.
    std::uint64_t end_mep() const noexcept { return end_mep_.load(std::memory_order_acquire); }  // end_at()
    bool try_take_free(std::uint32_t& buffer) noexcept { return buffers_.try_take_free(buffer); }
    void give(const FullMfp& mfp) noexcept {
        full_.try_give(mfp);  // has room for all buffers
        pass(mfp.mep + 1);
    }
    /// The source will give no more packets below `mep`.
    void pass(std::uint64_t mep) noexcept { passed_.store(mep, std::memory_order_release); }  // pairs with passed()

    // --- Readout unit
    void begin_at(std::uint64_t mep) noexcept { first_mep_.store(mep, std::memory_order_release); }  // first_mep()
    void end_at(std::uint64_t mep) noexcept { end_mep_.store(mep, std::memory_order_release); }      // end_mep()
    /// Read it before emptying the ring: a lower packet that was then not in the ring does not exist.
    std::uint64_t passed() const noexcept { return passed_.load(std::memory_order_acquire); }  // pairs with pass()
    bool try_take(FullMfp& mfp) noexcept { return full_.try_take(mfp); }
    void give_back(std::uint32_t buffer) noexcept { buffers_.give_back(buffer); }

  private:
    memory::PersistentBuffers buffers_;
    memory::SpscRing<FullMfp> full_;
    std::atomic<std::uint64_t> first_mep_{never}, end_mep_{never}, passed_{0};
};

/// A source that fills an MfpRing: an emulated card, or a chain that receives from boards. Fragment i of multi-event
/// packet k belongs to event k * packing + i. One thread calls do_work().
class MfpSource {
  public:
    virtual ~MfpSource() = default;
    /// Writes the available data as room permits, at most a few MFPs. Returns their number.
    virtual std::size_t do_work() noexcept = 0;
    /// When there will be work even if nothing arrives; the largest value if never.
    virtual Nanoseconds next_due_ns() const noexcept = 0;
};

}  // namespace anello::exchange
