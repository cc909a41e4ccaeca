// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "core/thread.hpp"
#include "exchange/mep_sink.hpp"
#include "memory/spsc_ring.hpp"
#include "store/mep_counters.hpp"
#include "store/record_file.hpp"

namespace anello::store {

struct MepWriterConfig {
    std::string path;
    std::uint32_t n_slots = 20;  ///< of the builder
    std::uint32_t n_readouts = 1;
    std::uint32_t packing = 600;
    std::uint32_t run_id = 0;
    FileRules rules{};
};

/// Writes the built events of one builder to a file, with their MFPs unchanged (docs/reference/mep-file.md). A thread
/// of its own writes directly from the builder's slots: while the disk pauses it holds slots, and if none is left the
/// farm waits. A failed write loses its multi-event packet, is counted and reported, and leaves the file valid.
class MepWriter final : public exchange::MepSink {
  public:
    /// Throws SystemError, also if the file exists.
    MepWriter(const MepWriterConfig& config, CounterPage& page, const std::string& block_name = "mep_store",
              Threads& threads = Threads::system());
    ~MepWriter() override;
    MepWriter(const MepWriter&) = delete;
    MepWriter& operator=(const MepWriter&) = delete;

    bool try_take(const exchange::MepView& mep) noexcept override;
    bool try_give_back(std::uint32_t& slot) noexcept override { return written_.try_take(slot); }
    void close() noexcept override;
    Notices notices() override;

    const Counters<MepStoreCounter>& counters() const noexcept { return counters_; }

  private:
    std::size_t write_one() noexcept;
    void fill_head(const exchange::MepView& mep) noexcept;
    void fill_pieces(const exchange::MepView& mep) noexcept;

    const MepWriterConfig config_;
    Counters<MepStoreCounter> counters_;
    RecordFile file_;
    bool is_closed_ = false;
    memory::SpscRing<exchange::MepView> taken_;
    memory::SpscRing<std::uint32_t> written_;
    std::vector<std::byte> head_;  ///< a record's header and lengths
    std::vector<iovec> pieces_;    ///< the head and the MFPs
    std::unique_ptr<Worker> thread_;
};

}  // namespace anello::store
