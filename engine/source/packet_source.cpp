// SPDX-License-Identifier: Apache-2.0
#include "source/packet_source.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/errors.hpp"
#include "core/keys.hpp"
#include "source/fault_keys.hpp"

namespace anello::source {
namespace {

using K = Key<PacketSourceConfig>;

constexpr std::size_t max_boards = 1024;

constexpr std::array of_run{
    K::of<&PacketSourceConfig::n_packets>("n_packets", "Packets of each board in the run; 0: as duration_s says."),
};

constexpr std::array of_boards{
    K::of<&PacketSourceConfig::n_boards>("count", {1, max_boards}, "Number of boards."),
    K::of<&PacketSourceConfig::rate_hz>("rate_hz", {1e-3, 1e6}, "Packets of each simulated board, /s."),
    K::of<&PacketSourceConfig::host>("host", not_empty, "Address of the node."),
    K::of<&PacketSourceConfig::ports>(
        "ports", Limits{}.entries(1, max_boards),
        "UDP ports of the node, which boards take in turn; 0: what the node has bound (anello run only)."),
    K::of<&PacketSourceConfig::max_behind_ms>("max_behind_ms", {0.001, 10'000},
                                              "Farther behind, time is forgone instead of sending a flood, ms.")
        .for_experts(),
    K::of<in<&PacketSourceConfig::thread, &ThreadConfig::core>>("core", {-1, 4095},
                                                                "Logical core of the sending thread; -1: any."),
};

constexpr auto of_faults =
    joined(fault_order_keys, std::array{Key<FaultsConfig>::of<&FaultsConfig::dead_board>(
                                 "dead_board", {-1, max_boards - 1}, "Board that sends nothing; -1: none.")});

/// In each step every board sends one packet.
class NumberedPlan final : public PacketPlan {
  public:
    NumberedPlan(const PacketSourceConfig& config, PacketSource::Write write, CounterPage& page)
        : PacketPlan(page),
          n_boards_(config.n_boards),
          n_packets_(config.n_packets),
          rate_hz_(config.rate_hz),
          write_(std::move(write)) {}

    Next next(Nanoseconds until_ns, Packet& packet) noexcept override {
        if (board_ == 0 && (is_stopped_ || (n_packets_ > 0 && n_made_ >= n_packets_))) return Next::none;
        packet = {.due_ns = static_cast<Nanoseconds>(static_cast<double>(n_made_) / rate_hz_ * 1e9),
                  .stream = board_,
                  .step = n_made_,
                  .first_number = n_made_};
        if (packet.due_ns > until_ns) return Next::later;
        if (board_ == 0) counters_.add(GeneratorCounter::events);
        board_ = (board_ + 1) % n_boards_;
        if (board_ == 0) ++n_made_;
        return Next::packet;
    }
    std::span<const std::byte> write(const Packet& packet, Nanoseconds, std::span<std::byte> room) noexcept override {
        return room.first(write_(packet.stream, static_cast<std::uint32_t>(packet.first_number), room));
    }
    void stop() noexcept override { is_stopped_ = true; }

  private:
    const std::uint32_t n_boards_;
    const std::uint64_t n_packets_;
    const double rate_hz_;
    const PacketSource::Write write_;
    std::uint32_t board_ = 0;
    std::uint64_t n_made_ = 0;  // by each board
    bool is_stopped_ = false;
};

PlannedSourceConfig planned(const PacketSourceConfig& config) {
    return {.boards = config.endpoints(),
            .seed = config.seed,
            .max_behind_ms = config.max_behind_ms,
            .faults = config.faults,
            .thread = config.thread};
}

const PacketSourceConfig& validated(const PacketSourceConfig& config) {
    config.validate();
    return config;
}

}  // namespace

constinit const Keys<PacketSourceConfig> packet_run_keys{"run", "The run as a whole.", of_run};
constinit const Keys<PacketSourceConfig> packet_boards_keys{
    "boards", "The front ends: each board sends packets with the numbers 0, 1, 2, ...", of_boards};
constinit const Keys<FaultsConfig> packet_faults_keys{
    "boards.faults", "Faults that the boards make on purpose, by run.seed. Shares are per packet.", of_faults};

void PacketSourceConfig::validate() const {
    packet_boards_keys.check(*this);
    faults.validate(packet_faults_keys, n_boards);
}

std::vector<BoardEndpoint> PacketSourceConfig::endpoints() const {
    std::vector<BoardEndpoint> endpoints;
    for (std::uint32_t board = 0; board < n_boards; ++board)
        endpoints.push_back({static_cast<std::uint16_t>(board), host, ports[board % ports.size()]});
    return endpoints;
}

PacketSource::PacketSource(const PacketSourceConfig& config, Write write, PacketSink& sink, const Clock& clock,
                           CounterPage& page)
    : PlannedSource(planned(validated(config)), std::make_unique<NumberedPlan>(config, std::move(write), page), sink,
                    clock, page) {}

}  // namespace anello::source
