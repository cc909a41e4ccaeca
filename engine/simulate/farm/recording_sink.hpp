// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exchange/mep_sink.hpp"
#include "simulate/world/world.hpp"
#include "source/random.hpp"

namespace anello::simulate {

/// A multi-event packet that a builder handed on.
struct Built {
    std::uint64_t mep = 0;
    Nanoseconds at_ns = 0;               ///< virtual time
    std::uint32_t n_missing = 0;         ///< according to the builder
    std::vector<std::uint16_t> missing;  ///< readout units without an MFP in it
    std::string wrong;                   ///< first content that does not belong to it; empty: none
    std::uint32_t checksum = 0;          ///< of its MFPs, one after the other
};

struct RecordingSinkConfig {
    std::uint32_t packing = 1, run_id = 0;
    bool is_fresh = true;    ///< fragments hold the pattern of their event
    bool is_carried = true;  ///< MFPs have fragments; false: only header and tables
    bool is_judged = true;   ///< all content is checked
    Nanoseconds holds_ns = 0;
    std::uint64_t seed = 1;
};

/// The stage after a builder. It checks every byte of a packet by itself, hands the packet on to the next sink, keeps
/// it for some time, and checks whether it changes in the meantime.
class RecordingSink final : public exchange::MepSink {
  public:
    /// behind: the next sink; null: none.
    RecordingSink(const RecordingSinkConfig& config, const World& world, std::unique_ptr<exchange::MepSink> behind)
        : config_(config), world_(world), random_(config.seed, 0x73696e6b), behind_(std::move(behind)) {}

    bool try_take(const exchange::MepView& mep) noexcept override;
    bool try_give_back(std::uint32_t& slot) noexcept override;
    void close() noexcept override {
        if (behind_) behind_->close();
    }
    void be_full_until(Nanoseconds until_ns) noexcept { full_until_ns_ = until_ns; }

    const std::vector<Built>& built() const noexcept { return built_; }

  private:
    struct Held {
        std::uint32_t slot = 0, checksum = 0;
        std::size_t index = 0;  ///< in built_
        Nanoseconds until_ns = 0;
        bool is_behind = false;  ///< the next sink has it
        std::vector<std::span<const std::byte>> mfps;
    };

    const char* what_is_wrong_with(const exchange::MepView& mep, std::size_t source) const noexcept;
    static std::uint32_t checksum_of(const Held& held, bool of_all) noexcept;

    const RecordingSinkConfig config_;
    const World& world_;
    source::Random random_;
    const std::unique_ptr<exchange::MepSink> behind_;
    std::vector<Built> built_;
    std::vector<Held> held_;
    Nanoseconds full_until_ns_ = 0;
};

}  // namespace anello::simulate
