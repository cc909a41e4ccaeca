// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "km3net/chain/node.hpp"
#include "km3net/simulate/plain_messages.hpp"
#include "km3net/simulate/wrong_headers.hpp"
#include "km3net/source/source.hpp"
#include "simulate/virtual_chains.hpp"

/// Runs a line's complete chain in virtual time: simulated boards, a wire, and a node with its own threads. Each slice
/// that the node's builder passes on, each event and each message is compared with those that a second, plain
/// implementation makes of the datagrams that the node read.
namespace anello::km3net {

struct LineScenario {
    std::vector<std::string> layout{"receive", "trigger", "store"};
    std::uint32_t n_doms = 5;
    std::uint64_t n_slices = 8;
    double spacing_m = 9, road_m = 43;  ///< distance of two DOMs; greatest distance of a DOM and a muon
    double singles_hz = 60, k40_hz = 300, muon_hz = 40, muon_radius_m = 10;
    std::uint32_t hits_per_datagram = 60, max_hits = 2'000;
    bool long_header = true;  ///< with trailers
    std::uint32_t run = 1;    ///< 0: the run that at least half of the DOMs give
    std::uint32_t window_slices = 8, max_lag_slices = 3, n_buffers = 12;
    bool waits = true;  ///< without a free buffer datagrams wait; false: they are dropped
    Nanoseconds timeout_ns = 500'000'000;
    std::uint32_t min_hits = 4, min_doms = 3, limit = 100;
    bool stores = false;               ///< messages are written to files
    std::uint64_t max_file_bytes = 0;  ///< size after which a new file begins; 0: one file
    simulate::ChainTroubles troubles{};
};

class VirtualLine {
  public:
    using Scenario = LineScenario;
    static Scenario drawn(std::uint64_t seed);  ///< A random scenario.
    static const std::vector<simulate::Assignable<Scenario>>& assignables();
    static constexpr std::array smaller{"n_slices=3", "n_doms=3", "muon_hz=0", "k40_hz=0", "stores=0"};
    static std::vector<std::string> lanes();  ///< names: the boards, and slices
    static constexpr std::uint32_t most_doms = 8;

    explicit VirtualLine(const LineScenario& scenario);
    ~VirtualLine() { node_->stop(); }
    void run();

    /// A slice that the builder passed on.
    struct SliceRun {
        std::uint64_t number = 0;
        Nanoseconds passed_on_ns = 0;
        std::array<Nanoseconds, most_doms> came_ns{};  ///< arrival of each board's last datagram; 0: none arrived
        std::vector<bool> is_complete{};               ///< by DOM
        std::size_t n_events = 0;
        Nanoseconds last_came_ns() const noexcept { return *std::ranges::max_element(came_ns); }
    };
    const std::vector<SliceRun>& events() const noexcept { return slices_; }
    /// Errors found while it ran, and at its end.
    const std::vector<std::string>& wrong() const noexcept { return wrong_; }
    bool finished() const noexcept { return finished_; }
    const PlainSlices& plain() const noexcept { return *plain_; }
    std::uint64_t n_decided() const;  ///< slices that the trigger looked at
    std::uint64_t n_found() const;    ///< events of several DOMs
    std::uint64_t count(const std::string& block, const std::string& name) const;  ///< value of a counter
    /// The last slices passed on, and the last datagrams of boards on their way.
    std::vector<simulate::TraceLine> trace(std::size_t max_messages) const;
    simulate::ChainBooks books() const;  ///< At the end.
    const simulate::World& world() const noexcept { return world_; }

  private:
    NodeConfig node_config();
    SourceConfig source_config() const;
    void see(std::uint32_t board, std::span<const std::byte> datagram);
    void take(const PlainSlice& slice);
    void compare_with_sea(const PlainSlice& slice);
    void take_events();
    void end();
    bool is_spoilt(std::uint32_t board) const;

    const LineScenario scenario_;
    simulate::World world_;
    simulate::SimulatedThreads host_, board_host_;
    simulate::SimulatedWire wire_;
    simulate::SimulatedDisk disk_;
    CounterPage page_;
    WrongHeaders headers_;
    std::unique_ptr<PlainSlices> plain_;
    std::unique_ptr<PlainTrigger> trigger_;
    std::unique_ptr<PlainMessages> messages_;
    std::unique_ptr<Node> node_;
    std::unique_ptr<Source> source_;
    std::unique_ptr<Worker> sender_;
    std::vector<std::vector<SimulatedFrame>> sea_;  ///< what the PMTs saw, by slice of the pool
    std::map<std::uint64_t, SliceRun> came_;        ///< slices of which datagrams arrived
    std::vector<SliceRun> slices_;
    struct Awaited {
        std::shared_ptr<const PlainDecision> decision;
        std::size_t event;
    };
    std::deque<Awaited> awaited_;  ///< events that the trigger has not offered yet
    std::unique_ptr<EventSample> sample_ = std::make_unique<EventSample>();
    std::uint64_t n_came_ = 0, n_came_before_end_ = 0, n_read_ = 0;  ///< datagrams that arrived, and that were read
    std::vector<std::string> wrong_;
    bool finished_ = false;
};

std::string describe(const LineScenario& scenario);
/// Checks what must hold in every scenario. Returns the violations; empty: there is none.
std::vector<std::string> judge(const VirtualLine& line, const LineScenario& scenario);

}  // namespace anello::km3net
