// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "exchange/generator.hpp"
#include "exchange/messages/own_messages.hpp"
#include "exchange/station/station.hpp"
#include "simulate/farm/farm_scenario.hpp"
#include "simulate/farm/recording_sink.hpp"
#include "simulate/world/simulated_disk.hpp"
#include "simulate/world/simulated_fabric.hpp"
#include "simulate/world/simulated_threads.hpp"
#include "store/mep_counters.hpp"

namespace anello::simulate {

/// A process of the farm: the exchange's real code on a simulated transport. The transport also holds the data that are
/// in the kernel of its machine.
class FarmProcess {
  public:
    /// Throws ConfigError if a process of this farm cannot be made, because no error may be thrown in virtual time.
    static void check(const FarmScenario& scenario);
    static double mean_mfp_bytes(const FarmScenario& scenario);
    /// `lives`: earlier processes of this node; comes_again: the farm has already begun.
    FarmProcess(const FarmScenario& scenario, Node node, unsigned lives, bool comes_again, Network& network,
                SimulatedDisk& disk, std::function<void()> woken);
    ~FarmProcess() { close_file(); }  // the file reads from the builder's memory
    FarmProcess(const FarmProcess&) = delete;
    FarmProcess& operator=(const FarmProcess&) = delete;

    /// One step of the node's thread: handles messages, then does the work that is due. Returns the number of things
    /// done.
    std::size_t step(bool with_source) noexcept;
    /// Data sent to other nodes and received from them so far.
    Moved moved() const noexcept { return fabric_ != nullptr ? fabric_->moved() : Moved{}; }
    std::uint64_t n_own_mfps() noexcept;
    /// The most MFPs that the readout unit held, in runs that are not judged.
    std::uint32_t most_mfps() const noexcept { return most_mfps_; }
    std::uint32_t most_meps() const noexcept { return most_meps_; }  ///< The most MEPs that the builder had open.
    /// When there is work to do even if nothing arrives; the present time if work is left.
    Nanoseconds next_due_ns(Nanoseconds now_ns) const noexcept;
    bool is_over() const noexcept { return !has_died_ && (station_->finished() || station_->failed()); }
    void exit() noexcept;  ///< Ends by itself; its system closes its connections.
    void crash() noexcept;
    void lose_power() noexcept;
    void die_after(std::uint32_t n_packets);  ///< Dies within the next step, after sending so many packets.
    void wait_for_disk(Nanoseconds until_ns) noexcept { threads_.block_until(until_ns); }
    void stop_threads_until(Nanoseconds until_ns) noexcept { threads_.stop_until(until_ns); }
    void close_file() noexcept;
    /// Name of the first of its files; and the counters of the file's writer.
    static std::string file_name(unsigned lives);
    const Counters<store::MepStoreCounter>* file_counters() const noexcept { return file_counters_; }
    void abort() noexcept;  ///< Ends at once on request: settles its counters, and leaves the others.
    /// It has left its record: it is over, or was requested to end.
    bool has_record() const noexcept { return is_over() || is_aborted_; }
    bool has_exited() const noexcept { return messages_ == nullptr; }
    /// When the process was made, when it was over, and when it last took this node for dead due to silence; never_ns:
    /// not yet.
    static constexpr Nanoseconds never_ns = std::numeric_limits<Nanoseconds>::max();
    Nanoseconds made_ns() const noexcept { return made_ns_; }
    Nanoseconds over_ns() const noexcept { return over_ns_; }
    Nanoseconds silent_ns(Node node) const noexcept { return silent_ns_[node]; }

    exchange::Station& station() noexcept { return *station_; }
    const exchange::Station& station() const noexcept { return *station_; }
    std::vector<std::byte> address() const { return messages_->address(); }
    RecordingSink* sink() noexcept { return sink_.get(); }
    const RecordingSink* sink() const noexcept { return sink_.get(); }
    const CounterPage& page() const noexcept { return page_; }
    /// A counter of one of its blocks.
    std::uint64_t count(const std::string& block, const std::string& name) const;

  private:
    std::unique_ptr<exchange::MepSink> make_file(const FarmScenario& scenario, const exchange::ExchangeConfig& config,
                                                 unsigned lives, SimulatedDisk& disk);
    void note_times() noexcept;
    void note_most() noexcept;

    const World& clock_;
    const Nanoseconds longest_idle_ns_;
    CounterPage page_;
    Counters<fabric::FabricCounter> transport_;
    std::unique_ptr<exchange::MfpRing> ring_;
    std::unique_ptr<exchange::Generator> generator_;
    SimulatedThreads threads_;
    const Counters<store::MepStoreCounter>* file_counters_ = nullptr;
    std::unique_ptr<RecordingSink> sink_;
    std::unique_ptr<exchange::Station> station_;
    SimulatedFabric* fabric_ = nullptr;  ///< owned by messages_
    std::unique_ptr<exchange::OwnMessages> messages_;
    std::uint64_t n_own_mfps_ = 0;
    std::uint32_t most_mfps_ = 0, most_meps_ = 0;
    const bool is_judged_;
    bool is_aborted_ = false, has_died_ = false;
    const Nanoseconds made_ns_;
    Nanoseconds over_ns_ = never_ns;
    std::vector<Nanoseconds> silent_ns_;  ///< by node
    std::vector<bool> is_silent_;
};

}  // namespace anello::simulate
