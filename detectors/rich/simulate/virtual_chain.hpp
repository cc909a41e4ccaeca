// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rich/chain/node.hpp"
#include "rich/emit/primitive_checker.hpp"
#include "rich/simulate/changed_boards.hpp"
#include "rich/source/simulation.hpp"
#include "rich/source/source.hpp"
#include "simulate/virtual_chains.hpp"
#include "wire/mgp.hpp"

/// Runs the RICH's complete chain in virtual time: simulated front ends, a wire, a node with its own threads. It
/// follows each event only by datagrams: those that arrived at the node, and the primitives that the node sent.
namespace anello::rich {

struct VirtualScenario {
    std::vector<std::string> layout{"receive+build+trigger+emit", "store"};
    std::uint32_t n_trigger_threads = 1, n_lanes = 1;
    double rate_hz = 50'000, burst_ms = 20, gap_ms = 5;
    std::uint32_t n_bursts = 2;
    Nanoseconds timeout_ns = 20'000'000;
    bool stores = false;  ///< store decisions in files
    std::uint32_t chunk_events = 65'536;
    std::uint64_t max_file_bytes = 0;  ///< a file of this size is followed by a new one; 0: one file
    simulate::ChainTroubles troubles{};

    /// True near a cut or hold, when a board may be silent, so that the merger does not wait for it.
    bool is_disturbed(Nanoseconds at_ns) const noexcept {
        constexpr Nanoseconds ms = 1'000'000;
        const Nanoseconds begin_ns = simulate::World::begin_ns + troubles.cut_at_ns;
        const Nanoseconds lasts_ns = std::max(troubles.cut_ns, troubles.hold_ns);
        return lasts_ns > 0 && begin_ns - ms <= at_ns && at_ns <= begin_ns + lasts_ns + 3 * ms;
    }
};

class VirtualChain {
  public:
    using Scenario = VirtualScenario;
    static Scenario drawn(std::uint64_t seed);  ///< Draws a random scenario.
    static const std::vector<simulate::Assignable<Scenario>>& assignables();
    static constexpr std::array smaller{"n_bursts=1", "n_lanes=1", "n_trigger_threads=1", "gap_ms=0"};
    static std::vector<std::string> lanes();  ///< names of the boards, and of decisions
    static constexpr const char* decisions_file = "decisions.h5";

    explicit VirtualChain(const VirtualScenario& scenario);
    void run();

    struct Event {
        std::array<Nanoseconds, n_boards> came_ns{};  ///< arrival of each board's fragment; 0: it did not arrive
        Nanoseconds decided_ns = 0;
        std::uint16_t primitive_id = 0;
        std::uint32_t n_decisions = 0;
        std::uint32_t n_again = 0;      ///< more fragments of boards of which one of this time had come
        bool is_overtaken = false;      ///< a fragment arrived after a later one of its board
        std::uint64_t made_key = 0;     ///< key of the event that the boards measured; others may be sent with its time
        bool is_mixed = false;          ///< its fragments are of several measured events
        std::bitset<n_boards> anew{};   ///< boards that had begun anew when they sent their fragment
        std::bitset<n_boards> wrong{};  ///< boards whose clock was wrong when they sent their fragment

        bool is_changed() const noexcept { return is_mixed || anew.any() || wrong.any(); }
        bool is_whole() const noexcept { return std::ranges::count(came_ns, 0) == 0; }
        Nanoseconds last_came_ns() const noexcept { return *std::ranges::max_element(came_ns); }
        Nanoseconds first_came_ns() const noexcept {
            Nanoseconds first_ns = 0;
            for (const Nanoseconds at_ns : came_ns)
                if (at_ns != 0 && (first_ns == 0 || at_ns < first_ns)) first_ns = at_ns;
            return first_ns;
        }
    };
    /// All events, by burst << 32 | timestamp, as these were sent.
    const std::map<std::uint64_t, Event>& events() const noexcept { return events_; }
    /// Keys of the events sent, and their events of the pool.
    std::span<const source::TruthSample> sent() const noexcept { return source_->truth(); }
    const std::vector<std::string>& notices() const noexcept { return notices_; }
    bool finished() const noexcept { return finished_; }
    const simulate::SimulatedDisk& disk() const noexcept { return disk_; }
    /// Keys of the events that boards have sent, as measured; empty where no board begins anew or has a wrong clock.
    const std::set<std::uint64_t>& sent_keys() const noexcept { return boards_.sent_keys(); }
    const ExpectedPackets& packets(std::uint32_t board) const noexcept { return packets_[board]; }
    std::uint64_t count(const std::string& block, const std::string& name) const;  ///< value of a counter
    /// Packets of this board that the node lists as missing.
    std::uint64_t n_missing(std::uint32_t board) const noexcept { return n_missing_[board]; }
    std::uint64_t n_lost_for_file() const { return count("store", "events_lost"); }
    std::uint64_t n_decided() const noexcept;
    /// The last messages: fragments on their way, and decisions.
    std::vector<simulate::TraceLine> trace(std::size_t max_messages) const;
    simulate::ChainBooks books() const;
    const simulate::World& world() const noexcept { return world_; }
    std::uint64_t n_steps() const noexcept { return host_.n_steps(); }

  private:
    class Sink;
    struct Decision {
        std::uint32_t timestamp_ticks;
        std::uint16_t primitive_id;
        Nanoseconds at_ns;
    };

    NodeConfig node_config();
    RichSourceConfig source_config() const;
    void see(std::uint32_t board, std::span<const std::byte> datagram);
    void see_marker(std::uint32_t board, const wire::mgp::PacketView& packet, std::span<const std::byte> datagram);
    void see_event(std::uint32_t board, std::uint64_t key, const ChangedRichBoards::Change& change);
    void note_missing();
    void match_decisions();
    std::optional<std::uint32_t> burst_of(const std::vector<Decision>& decisions,
                                          const std::vector<std::uint32_t>& bursts) const;
    void match(const std::vector<Decision>& decisions, std::uint32_t burst);

    const VirtualScenario scenario_;
    simulate::World world_;
    simulate::SimulatedThreads host_, front_end_host_;
    simulate::SimulatedWire wire_;
    ChangedRichBoards boards_;
    simulate::SimulatedDisk disk_;
    CounterPage page_;
    std::unique_ptr<Node> node_;
    std::unique_ptr<RichSource> source_;
    std::unique_ptr<Worker> sender_;
    std::map<std::uint64_t, Event> events_;
    std::vector<std::vector<Decision>> decisions_;    ///< burst by burst, in the order of sending
    std::array<std::uint64_t, n_boards> last_key_{};  ///< of each board's measured events
    std::array<ExpectedPackets, n_boards> packets_{};
    std::array<std::uint64_t, n_boards> n_missing_{};
    std::vector<std::uint32_t> bursts_;  ///< numbers, in the order in which they came
    std::vector<std::string> notices_;
    bool finished_ = false;
};

std::string describe(const VirtualScenario& scenario);

/// Returns the rules that the run broke; empty: none. They hold for any scenario.
std::vector<std::string> judge(const VirtualChain& chain, const VirtualScenario& scenario);

}  // namespace anello::rich
