// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "camera/chain/boards.hpp"
#include "camera/chain/node_config.hpp"
#include "camera/chain/outlet.hpp"
#include "camera/events/joiner.hpp"
#include "camera/simulate/changed_boards.hpp"
#include "camera/source/source.hpp"
#include "pipeline/runner.hpp"
#include "simulate/virtual_chains.hpp"

/// Simulates a camera's whole chain in virtual time: boards, a wire, and the stages of a node on its own threads. It
/// compares each event that the filter takes with the datagrams that arrived.
namespace anello::camera {

struct CameraScenario {
    std::vector<std::string> layout{"receive+build+filter", "send"};
    std::uint32_t n_groups = 1;
    double rate_hz = 1'500, spread_us = 100;
    std::uint64_t n_events = 150;
    std::uint32_t window_events = 64, n_buffers = 256;
    Nanoseconds timeout_ns = 20'000'000;
    bool stores = false;               ///< kept events are written to files
    std::uint64_t max_file_bytes = 0;  ///< size after which a new file begins; 0: one file
    simulate::ChainTroubles troubles{};
};

class VirtualCamera {
  public:
    using Scenario = CameraScenario;
    static Scenario drawn(std::uint64_t seed);  ///< A random scenario.
    static const std::vector<simulate::Assignable<Scenario>>& assignables();
    static constexpr std::array smaller{"n_events=40", "n_groups=1", "spread_us=0"};
    static std::vector<std::string> lanes();  ///< names: the boards, and whole events
    static constexpr std::uint32_t n_boards = 19;

    explicit VirtualCamera(const CameraScenario& scenario);
    ~VirtualCamera();
    void run();

    struct Event {
        std::array<Nanoseconds, n_boards> came_ns{};  ///< arrival by board; 0: its fragment did not arrive
        BoardSet present{};
        Nanoseconds taken_ns = 0;
        std::uint32_t n_taken = 0;
        BoardSet overtaken{};            ///< boards whose fragment arrived after a later one of theirs
        std::uint64_t timestamp_ns = 0;  ///< that of the fragment which arrived last, until the event is taken
        std::uint8_t trigger_tag = 0;    ///< the same in all fragments
        std::array<std::uint64_t, n_boards> times_ns{};  ///< time stamp of each board's fragment

        Nanoseconds last_came_ns() const noexcept { return *std::ranges::max_element(came_ns); }
        Nanoseconds first_came_ns() const noexcept;
        /// When the fragments of half of the boards had arrived; 0: they did not.
        Nanoseconds half_came_ns() const;
    };
    /// By number, where the boards' numbers wrap as if they had not.
    const std::map<std::uint32_t, Event>& events() const noexcept { return events_; }
    const ExpectedFragments& fragments(std::uint32_t board) const noexcept { return fragments_[board]; }
    /// What an event's number would be if the boards' numbers did not wrap.
    std::uint32_t unwrapped(std::uint64_t number) const noexcept {
        return static_cast<std::uint32_t>(number) - scenario_.troubles.boards.first_number();
    }
    /// Errors found in an event when it was taken, or at the end.
    const std::vector<std::string>& wrong() const noexcept { return wrong_; }
    bool finished() const noexcept { return finished_; }
    const simulate::SimulatedDisk& disk() const noexcept { return disk_; }
    std::uint64_t count(const std::string& block, const std::string& name) const;  ///< value of a counter
    std::uint64_t n_decided() const noexcept;
    std::uint64_t n_made() const;  ///< events that the trigger made
    /// The last events taken, and the last fragments on their way.
    std::vector<simulate::TraceLine> trace(std::size_t max_messages) const;
    simulate::ChainBooks books();  ///< At the end.
    const simulate::World& world() const noexcept { return world_; }

  private:
    class Watched;

    CameraNodeConfig node_config();
    CameraSourceConfig source_config() const;
    void see(std::uint32_t board, std::span<const std::byte> datagram);
    void take(const CameraEventView& view);
    void check_slot(const CameraEventView& view, std::uint32_t board, const Event& event);
    static bool is_time_of(const CameraEventView& view, const Event& event);

    const CameraScenario scenario_;
    simulate::World world_;
    simulate::SimulatedThreads host_, board_host_;
    simulate::SimulatedWire wire_;
    ChangedCameraBoards changed_;
    simulate::SimulatedDisk disk_;
    CounterPage page_, sent_page_;
    const CameraNodeConfig config_;
    CameraBoards boards_;
    CameraJoiner joiner_;
    std::unique_ptr<Watched> watched_;
    std::unique_ptr<CameraOutlet> outlet_;
    pipeline::Runner runner_;
    std::unique_ptr<CameraPool> pool_;
    std::unique_ptr<CameraSource> source_;
    std::unique_ptr<Worker> sender_;
    std::map<std::uint32_t, Event> events_;
    std::array<std::uint32_t, n_boards> last_number_{};
    std::array<ExpectedFragments, n_boards> fragments_{};
    std::uint32_t last_taken_ = 0;
    std::vector<std::string> wrong_;
    bool finished_ = false;
};

std::string describe(const CameraScenario& scenario);
/// Checks what must hold in every scenario. Returns the first violation; empty: there is none.
std::vector<std::string> judge(const VirtualCamera& camera, const CameraScenario& scenario);

}  // namespace anello::camera
