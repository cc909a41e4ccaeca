// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "card_events.hpp"
#include "rich/source/simulation.hpp"
#include "rich/source/source.hpp"
#include "source/simulated_time.hpp"
#include "wire/mgp.hpp"

/// Datagrams for the card: made at random, or by Anello's simulated RICH front ends.
namespace front_ends {

namespace mgp = anello::wire::mgp;
using card::Datagram;
using card::n_boards;

struct Options {
    std::uint64_t seed = 1;
    std::uint32_t n_events = 2000;
    std::string mode = "sorted";
    std::uint32_t events_per_packet = 60;  ///< upper limit
    bool markers_too = false;              ///< with faults: burst markers are lost, repeated and reordered as well
    double stalls = 0, gaps = 0;
    bool reject = false, is_verbose = false;
};

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
    bool one_in(std::uint32_t n) { return below(n) == 0; }

  private:
    std::mt19937_64 engine_;
};

/// Boards that send random events, with the faults of the mode.
class FrontEnds {
  public:
    FrontEnds(const Options& options, const card::Config& config)
        : options_(options), config_(config), dice_(options.seed) {}

    std::vector<Datagram> make() {
        const bool has_faults = options_.mode == "faults";
        std::uint32_t burst_id = dice_.below(1000);
        const std::uint32_t n_bursts = 1 + dice_.below(4);
        for (std::uint32_t b = 0; b < n_bursts; ++b, burst_id += 1 + (dice_.one_in(5) ? dice_.below(20) : 0))
            make_burst(burst_id, options_.n_events / n_bursts);
        if (has_faults) break_packets();
        return std::move(sent_);
    }

  private:
    struct Board {
        bool with_time = false, with_checksum = false, is_open = false;
        std::vector<std::byte> bytes;
        std::uint32_t n_events = 0, limit = 1, sequence = 0, last_ticks = 0, silent_until = 0;
        std::uint8_t last_fine = 0;
        bool has_last = false;
    };

    void make_burst(std::uint32_t burst_id, std::uint32_t n_events) {
        burst_id_ = burst_id;
        std::uint32_t time = dice_.one_in(3) ? 0xffffffff - dice_.below(n_events * 20) : dice_.below(5000);
        const std::uint32_t pace = dice_.one_in(2) ? 8 : 200;
        for (std::uint32_t b = 0; b < n_boards; ++b) {
            boards_[b] =
                Board{.with_time = dice_.one_in(2), .with_checksum = !dice_.one_in(4), .sequence = boards_[b].sequence};
            if (dice_.one_in(2)) send_marker(b, mgp::start_of_burst);
        }
        for (std::uint32_t i = 0; i < n_events; ++i, time += 1 + dice_.below(pace)) {
            if (options_.mode == "faults" && dice_.one_in(700)) {
                Board& quiet = boards_[dice_.below(n_boards)];
                quiet.silent_until = i + 30 + dice_.below(100);
                pause_ = 2 * config_.timeout_cycles + dice_.below(1000);
            }
            if (options_.mode == "faults" && dice_.one_in(900)) time += 20'000;  // all boards, beyond `far`
            for (std::uint32_t b = 0; b < n_boards; ++b)
                if (!dice_.one_in(8) && i >= boards_[b].silent_until) add_fragment(b, time);
        }
        for (std::uint32_t b = 0; b < n_boards; ++b) close(b);
        for (std::uint32_t again = 0; again < 2; ++again)
            for (std::uint32_t b = 0; b < n_boards; ++b) send_marker(b, mgp::end_of_burst);
    }

    void add_fragment(std::uint32_t b, std::uint32_t time) {
        Board& board = boards_[b];
        std::uint32_t ticks = time + (dice_.one_in(3) ? dice_.below(config_.window + 2) : 0);
        auto fine = static_cast<std::uint8_t>(dice_.below(256));
        if (board.has_last && static_cast<std::int32_t>(ticks - board.last_ticks) <= 0) {
            ticks = board.last_ticks + dice_.below(2);
            if (ticks == board.last_ticks) fine = std::max(fine, board.last_fine);
        }
        if (board.has_last && dice_.one_in(30)) ticks = board.last_ticks, fine = board.last_fine;  // a repetition
        if (options_.mode == "faults" && dice_.one_in(400))
            ticks += 1'000'000 * (1 + dice_.below(4000));
        else
            board.last_ticks = ticks, board.last_fine = fine, board.has_last = true;
        std::vector<mgp::Hit> hits(dice_.one_in(50)  ? dice_.below(256)
                                   : dice_.one_in(4) ? dice_.below(16)
                                                     : dice_.below(9));
        for (mgp::Hit& hit : hits)
            hit = {static_cast<std::uint16_t>(dice_.below(488)),
                   static_cast<std::int16_t>(static_cast<int>(dice_.below(512)) - 256)};
        if (dice_.one_in(3000) && !hits.empty()) hits.back().channel = 500;  // no such PMT
        std::byte encoded[600];
        const std::size_t n = mgp::write_event(encoded, ticks, fine, hits, board.with_time);
        if (board.is_open && board.bytes.size() + n > 1472) close(b);
        if (!board.is_open) {
            board.bytes.assign(mgp::header_bytes, std::byte{0});
            board.is_open = true;
            board.n_events = 0;
            board.limit = dice_.one_in(3) ? 1 + dice_.below(4) : 1 + dice_.below(options_.events_per_packet);
        }
        board.bytes.insert(board.bytes.end(), encoded, encoded + n);
        if (++board.n_events >= board.limit) close(b);
    }

    void close(std::uint32_t b) {
        Board& board = boards_[b];
        if (!board.is_open) return;
        board.is_open = false;
        mgp::Header header;
        header.flags = static_cast<std::uint8_t>((board.with_time ? mgp::hits_with_time : 0) |
                                                 (board.with_checksum ? mgp::with_checksum : 0));
        header.source_id = static_cast<std::uint16_t>(config_.stream_to_id + b);
        header.n_events = static_cast<std::uint16_t>(board.n_events);
        header.sequence = board.sequence++;
        header.burst_id = burst_id_;
        mgp::seal(board.bytes, header, board.bytes.size() - mgp::header_bytes);
        put(b, board.bytes);
    }

    void send_marker(std::uint32_t b, std::uint8_t which) {
        std::vector<std::byte> bytes(mgp::header_bytes + mgp::totals_bytes);
        mgp::Header header;
        header.flags = which | (dice_.one_in(2) ? mgp::with_checksum : 0);
        header.source_id = static_cast<std::uint16_t>(config_.stream_to_id + b);
        header.sequence = boards_[b].sequence;
        header.burst_id = burst_id_;
        mgp::write_burst_marker(bytes, header, {});
        put(b, bytes);
    }

    void put(std::uint32_t b, const std::vector<std::byte>& bytes) {
        sent_.push_back({b, bytes});
        sent_.back().pause_cycles = std::exchange(pause_, 0);
    }

    /// Makes faults of the network and of memory, like those of the fault injector, and worse ones.
    void break_packets() {
        std::vector<Datagram> out;
        std::map<std::uint32_t, Datagram> held;
        for (Datagram& d : sent_) {
            const std::uint32_t fault = dice_.below(100);
            const std::uint32_t board = d.board;
            const bool is_data = (static_cast<std::uint8_t>(d.bytes[5]) & 12) == 0;
            if (!is_data && !options_.markers_too) {
                out.push_back(std::move(d));
            } else if (fault == 0) {
                continue;
            } else if (fault <= 2) {
                out.push_back(d);
                out.push_back(std::move(d));
            } else if (fault <= 4 && held.count(board) == 0) {
                held[board] = std::move(d);
                continue;
            } else {
                if (fault <= 8)
                    d.bytes[dice_.below(static_cast<std::uint32_t>(d.bytes.size()))] ^= std::byte(1 << dice_.below(8));
                if (fault == 9) d.bytes.resize(1 + dice_.below(static_cast<std::uint32_t>(d.bytes.size())));
                if (fault == 10) d.bytes.insert(d.bytes.end(), 1 + dice_.below(20), std::byte{0});
                if (fault == 11) damage_header(d);
                if (fault == 12) d.is_bad = true;
                out.push_back(std::move(d));
            }
            const auto it = held.find(board);
            if (it != held.end()) {
                out.push_back(std::move(it->second));
                held.erase(it);
            }
        }
        for (auto& [board, d] : held) out.push_back(std::move(d));
        sent_ = std::move(out);
    }

    /// Changes header fields and corrects the checksum, so that every verdict after the checksum occurs.
    void damage_header(Datagram& d) {
        const std::uint32_t which = dice_.below(6);
        if (which == 0) d.bytes[10] = std::byte(dice_.below(60));
        if (which == 1) d.bytes[10] = d.bytes[11] = std::byte{0};
        if (which == 2) d.bytes[5] |= mgp_marker();
        if (which == 3) d.bytes[8] ^= std::byte{64};
        if (which == 4) d.bytes[5] ^= std::byte{1};
        if (which == 5 && d.bytes.size() > 40) d.bytes.resize(d.bytes.size() - 1 - dice_.below(8));
        reseal(d);
    }
    static std::byte mgp_marker() { return std::byte{mgp::end_of_burst}; }
    static void reseal(Datagram& d) {
        mgp::Header header;
        header.flags = static_cast<std::uint8_t>(d.bytes[5]);
        std::memcpy(&header.source_id, &d.bytes[8], 2);
        std::memcpy(&header.n_events, &d.bytes[10], 2);
        std::memcpy(&header.sequence, &d.bytes[12], 4);
        std::memcpy(&header.burst_id, &d.bytes[16], 4);
        mgp::seal(d.bytes, header, d.bytes.size() - mgp::header_bytes);
    }

    const Options& options_;
    const card::Config& config_;
    Dice dice_;
    Board boards_[n_boards];
    std::uint32_t burst_id_ = 0, pause_ = 0;
    std::vector<Datagram> sent_;
};

/// Datagrams of the simulated RICH, in the order of sending.
class Collected final : public anello::source::PacketSink {
  public:
    void send(std::span<const anello::source::OutgoingDatagram> datagrams, anello::Nanoseconds,
              anello::source::SendResult* results) noexcept override {
        for (const auto& d : datagrams) {
            *results++ = anello::source::SendResult::sent;
            sent.push_back({d.stream, {d.bytes.begin(), d.bytes.end()}});
        }
    }
    std::vector<Datagram> sent;
};

inline std::vector<Datagram> simulate_na62(const Options& options, bool has_hit_times) {
    namespace rich = anello::rich;
    rich::RichSimulationConfig simulation;
    simulation.seed = options.seed;
    const rich::EventSample sample = rich::RichSimulation(simulation).simulate(2000);
    rich::RichSourceConfig config;
    config.seed = options.seed;
    config.rate_hz = 12e6;
    config.dead_time_ticks = 1;
    config.hit_times = has_hit_times;
    config.n_bursts = 2;
    config.burst_ms = options.n_events / 2 / config.rate_hz * 1e3;
    config.gap_ms = 0.01;
    config.end_marker_spacing_ms = 0.001;
    config.flush_us = 50;
    const rich::EventPool pool(sample, config.format, config.hit_times);
    Collected sink;
    anello::ManualClock clock{1'000'000};
    anello::CounterPage page;
    rich::RichSource source(config, pool, sink, clock, page);
    anello::source::run_in_simulated_time(source, clock, 1000);
    return std::move(sink.sent);
}

}  // namespace front_ends
