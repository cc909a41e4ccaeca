// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string_view>

#include "core/latency/latency_leg.hpp"
#include "pipeline/datagram_intake.hpp"
#include "pipeline/machine_probe.hpp"
#include "pipeline/runner.hpp"
#include "receive/card/make_backend.hpp"
#include "receive/numbers/board_books.hpp"

namespace anello::pipeline {

inline constexpr std::array<std::string_view, 1> packet_chain{"receive"};

struct PacketThreads : ThreadsConfig {
    PacketThreads() : ThreadsConfig{.layout = {"receive"}} {}
};
extern const Keys<PacketThreads> packet_threads_keys;

/// What a detector does with its boards' packets; it gets each number of a board once. The receiving thread calls all
/// members.
/// Hot path: no allocation, no lock, no log, no throw.
class PacketUser {
  public:
    virtual ~PacketUser() = default;
    virtual void use(const receive::NumberedPacket& packet) noexcept = 0;
    virtual void finish() noexcept {}  ///< The end: no more packets will come.
};

struct PacketNodeConfig {
    PageIdentity page;  ///< of its counter page
    std::uint32_t n_boards = 1;
    std::uint64_t n_packets = 0;  ///< of each board in the run; 0: the node never finishes on its own
    receive::BackendConfig backend = {};
    std::vector<receive::SourceAddress> sources = {};  ///< by board; empty: the first sender is accepted
    std::vector<ThreadPlan> threads = {};
    WaitPolicy wait = WaitPolicy::sleep;
    double probe_share = 0;  ///< share of each core for measuring the machine's wake-up delays; 0: off
};

/// A chain of one stage, for detectors whose boards number their packets: a detector provides a parser and a
/// PacketUser. The control thread calls all members.
class PacketNode {
  public:
    /// Makes the user. It may add blocks to the page, which outlives the user.
    using MakeUser = std::function<std::unique_ptr<PacketUser>(CounterPage&)>;

    /// Throws ConfigError, SystemError.
    PacketNode(const PacketNodeConfig& config, receive::ParsePacket parse, const MakeUser& make_user,
               const Clock& clock = SystemClock::instance(), Threads& threads = Threads::system());
    ~PacketNode() { stop(); }
    PacketNode(const PacketNode&) = delete;
    PacketNode& operator=(const PacketNode&) = delete;

    void start() { runner_.start(); }
    void stop() { runner_.stop(); }  ///< Drains; waits at most 10 s.
    bool running() const noexcept { return runner_.running(); }
    /// True if the file is at its end, or half of the boards have sent their last packet and no more arrive.
    bool finished() const noexcept;

    std::vector<std::uint16_t> ports() const { return intake_.ports(); }
    std::vector<CounterPage::Sample> counters() const { return page_.read(); }
    CounterPage& page() noexcept { return page_; }
    void keep_page() { runner_.keep_page(); }  ///< Call periodically: shows that this thread is alive.
    Latencies latency() const { return runner_.latency(); }
    LatenciesOverTime latency_over_time() const { return runner_.latency_over_time(); }
    const MachineProbe* probe() const noexcept { return probe_.get(); }  ///< null: the machine is not measured
    Notices notices() { return runner_.notices(); }
    States states() const { return runner_.states(); }
    /// Calls look(board, log); valid after stop().
    void for_each_sequence_log(const auto& look) const {
        for (std::uint32_t board = 0; board < books_.n_boards(); ++board) look(board, books_.log(board));
    }

  private:
    class Packets final : public DatagramUser {
      public:
        explicit Packets(PacketNode& node) : node_(node) {}
        void begin_batch(Nanoseconds now_ns) noexcept override { node_.books_.begin_batch(now_ns); }
        void use(const receive::Datagram& datagram) noexcept override;
        std::size_t end_batch(Nanoseconds read_until_ns) noexcept override;
        void finish() noexcept override;

      private:
        PacketNode& node_;
    };
    Stage stage();
    void add_notices(Notices& notices);

    const PacketNodeConfig config_;
    const Clock& clock_;
    CounterPage page_;
    receive::BoardBooks books_;
    std::unique_ptr<PacketUser> user_;
    Packets packets_{*this};
    DatagramIntake intake_;
    LatencyLeg& came_to_used_;                       ///< in the page
    std::vector<receive::SpeakerNotices> speakers_;  // of each board
    std::unique_ptr<MachineProbe> probe_;
    Runner runner_;  ///< last member: its threads end before the objects that they use
};

}  // namespace anello::pipeline
