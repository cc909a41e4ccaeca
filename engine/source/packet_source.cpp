// SPDX-License-Identifier: Apache-2.0
#include "source/packet_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.hpp"
#include "core/keys.hpp"
#include "source/fault_keys.hpp"
#include "source/send_books.hpp"

namespace anello::source {
namespace {

using C = SourceCounter;
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
                                              "Farther behind, time is forgone instead of sending a flood, ms."),
    K::of<in<&PacketSourceConfig::thread, &ThreadConfig::core>>("core", {-1, 4095},
                                                                "Logical core of the sending thread; -1: any."),
};

constexpr auto of_faults =
    joined(fault_order_keys, std::array{Key<FaultsConfig>::of<&FaultsConfig::dead_board>(
                                 "dead_board", {-1, max_boards - 1}, "Board that sends nothing; -1: none.")});

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
    : config_(validated(config)),
      write_(std::move(write)),
      sink_(sink),
      clock_(clock),
      counters_(page.add_block<GeneratorCounter>("source")),
      packets_(PacketSink::max_batch),
      results_(PacketSink::max_batch),
      thread_(config.thread, [this] { return do_work(); }) {
    for (std::uint32_t board = 0; board < config.n_boards; ++board)
        boards_.push_back(
            {FaultInjector(config.faults, config.seed, board), page.add_block<C>(fmt::format("source.board{}", board)),
             SentLog(max_withheld_ranges(config.n_boards)), Packet{std::vector<std::byte>(max_packet_bytes)}});
    for (Packet& packet : packets_) packet.bytes.resize(max_packet_bytes);
    out_.reserve(PacketSink::max_batch);
}

void PacketSource::stop() {
    thread_.stop();
    if (running()) end();
}

// Hot path from here on: no allocation (all is reserved), no lock, no log, no throw.
std::size_t PacketSource::do_work() noexcept {
    if (finished_.load(std::memory_order_relaxed)) return 0;
    const std::uint64_t until = n_due(clock_.monotonic_ns());
    std::size_t n = 0;
    for (std::size_t step = 0; step < most_steps && n_made_ < until; ++step, ++n_made_) {
        for (std::uint32_t board = 0; board < boards_.size(); ++board) make(board);
        counters_.add(GeneratorCounter::events);
        n += boards_.size();
    }
    flush();
    if (config_.n_packets > 0 && n_made_ >= config_.n_packets) end();
    return n;
}

/// Far behind, catching up would be a flood: time is forgone instead.
std::uint64_t PacketSource::n_due(Nanoseconds now_ns) noexcept {
    if (start_ns_ == 0) start_ns_ = now_ns;
    const Nanoseconds behind_ns =
        now_ns - start_ns_ - static_cast<Nanoseconds>(static_cast<double>(n_made_) / config_.rate_hz * 1e9);
    if (behind_ns > static_cast<Nanoseconds>(counters_[GeneratorCounter::behind_ns_max]))
        counters_.set(GeneratorCounter::behind_ns_max, static_cast<std::uint64_t>(behind_ns));
    const Nanoseconds excess_ns = behind_ns - static_cast<Nanoseconds>(config_.max_behind_ms * 1e6);
    if (excess_ns > 0) {
        start_ns_ += excess_ns;
        counters_.add(GeneratorCounter::time_forgone_ns, static_cast<std::uint64_t>(excess_ns));
    }
    const auto n = static_cast<std::uint64_t>(static_cast<double>(now_ns - start_ns_) * 1e-9 * config_.rate_hz) + 1;
    return config_.n_packets > 0 ? std::min<std::uint64_t>(n, config_.n_packets) : n;
}

void PacketSource::make(std::uint32_t index) noexcept {
    Board& board = boards_[index];
    const auto sequence = static_cast<std::uint32_t>(n_made_);
    const Fault fault = board.faults.next();
    board.counters.add(C::packets);
    board.log.made.add(0, sequence, sequence + 1);
    if (withhold(board, fault, config_.faults.dead_board == static_cast<std::int32_t>(index))) return;
    const bool is_held = fault == Fault::reorder && !board.holds;
    Packet& packet = is_held ? board.held : packets_[out_.size()];
    packet.sequence = sequence;
    packet.length = write_(index, sequence, packet.bytes);
    board.counters.add(C::bytes, packet.length);
    if (is_held) {
        board.holds = true;
        board.counters.add(C::packets_reordered_injected);
        return;
    }
    put_out(index, packet);
    if (fault == Fault::duplicate) {
        put_out(index, packet);
        board.counters.add(C::packets_duplicated_injected);
    }
    release_held(index);
}

bool PacketSource::withhold(Board& board, Fault fault, bool is_dead) noexcept {
    if (!is_dead && fault != Fault::loss) return false;
    board.counters.add(is_dead ? C::packets_dead_board : C::packets_lost_injected);
    board.log.withhold(0, n_made_, n_made_ + 1, is_dead ? Withheld::board_dead : Withheld::lost_on_purpose);
    return true;
}

void PacketSource::release_held(std::uint32_t index) noexcept {
    Board& board = boards_[index];
    if (!board.holds) return;
    board.holds = false;
    Packet& packet = packets_[out_.size()];
    std::copy_n(board.held.bytes.begin(), board.held.length, packet.bytes.begin());
    packet.length = board.held.length;
    packet.sequence = board.held.sequence;
    put_out(index, packet);
}

void PacketSource::put_out(std::uint32_t board, const Packet& packet) noexcept {
    out_.push_back({.bytes = std::span(packet.bytes).first(packet.length),
                    .stream = board,
                    .n_fragments = 1,
                    .first_number = packet.sequence,
                    .n_numbers = 1});
    if (out_.size() + datagrams_of_one > PacketSink::max_batch) flush();
}

void PacketSource::flush() noexcept {
    if (out_.empty()) return;
    sink_.send(out_, clock_.wall_ns(), results_.data());
    counters_.add(GeneratorCounter::sends);
    for (std::size_t i = 0; i < out_.size(); ++i)
        count_result(boards_[out_[i].stream].counters, boards_[out_[i].stream].log, out_[i], results_[i]);
    out_.clear();
}

void PacketSource::end() noexcept {
    for (std::uint32_t board = 0; board < boards_.size(); ++board) release_held(board);
    flush();
    finished_.store(true, std::memory_order_release);
}

}  // namespace anello::source
