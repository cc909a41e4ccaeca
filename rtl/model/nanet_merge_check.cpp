// SPDX-License-Identifier: Apache-2.0
// Sends Ethernet frames of simulated boards through the whole card into a host's memory, and compares the records and
// counters with those of Anello's own parser and merger for the same datagrams. Exit code 0: they agree.
//
//   nanet_merge_check --seed N [--events N] [--mode sorted|faults|na62] [--merge 0|1|both] [--cut-through]
//                     [--stalls SHARE] [--gaps SHARE] [--reject]
//   nanet_merge_check --measure [--seed N] [--events N]
//
// Modes as in data_path_check. With faults, outcomes depend on which fragments have arrived when an event is sent:
// verdicts, sums and counters must agree with each other and with the datagrams; events are not compared. --merge both
// changes the register at random while frames come: each datagram is either an unchanged record, or merged.
// stalls: share of cycles in which the memory takes no data; gaps: how much longer frames take than on a full line, so
// that none is lost.
// --measure prints events per second, latencies in cycles, and the speed of the simulation.
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "front_ends.hpp"
#include "nanet_card.hpp"
#include "software_path.hpp"

namespace {

namespace mgp = anello::wire::mgp;
namespace registers = anello::nanet;
using card::Datagram;
using card::n_boards;
using front_ends::Dice;
using front_ends::Options;
using host::Frame;

constexpr std::uint16_t first_port = 50'000;
constexpr std::uint64_t own_mac = 0x02ae'0012'3456;
constexpr std::uint32_t own_ip = 0xc0a8'010a;
constexpr double clock_hz = 156.25e6;
constexpr unsigned n_header_words = 4;  ///< words of a record's header, which is written last

struct Settings : Options {
    std::string merge = "1";
    bool cut_through = false, measure = false;
};

Settings read_settings(int n, char** words) {
    Settings s;
    std::map<std::string, std::string> given;
    for (int i = 1; i < n; ++i) {
        const std::string word = words[i];
        if (word == "--reject")
            s.reject = true;
        else if (word == "--cut-through")
            s.cut_through = true;
        else if (word == "--measure")
            s.measure = true;
        else if (i + 1 < n)
            given[word] = words[++i];
    }
    if (given.count("--seed")) s.seed = std::stoull(given["--seed"]);
    if (given.count("--events")) s.n_events = static_cast<std::uint32_t>(std::stoul(given["--events"]));
    if (given.count("--mode")) s.mode = given["--mode"];
    if (given.count("--merge")) s.merge = given["--merge"];
    s.gaps = s.mode == "na62" ? 0.4 : 1;
    if (given.count("--gaps")) s.gaps = std::stod(given["--gaps"]);
    if (given.count("--stalls")) s.stalls = std::stod(given["--stalls"]);
    return s;
}

std::uint32_t sum_of(const std::vector<std::byte>& bytes, std::size_t from, std::size_t n, std::uint32_t sum) {
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<std::uint32_t>(bytes[from + i]) << (i % 2 == 0 ? 8 : 0);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

/// Adds Ethernet, IPv4 and UDP headers to a datagram of a board.
std::vector<std::byte> frame_of(const Datagram& d) {
    const std::size_t n = d.bytes.size();
    std::vector<std::byte> f(42 + n);
    const auto put = [&](std::size_t at, std::size_t n_bytes, std::uint64_t value) {
        for (std::size_t i = 0; i < n_bytes; ++i) f[at + i] = static_cast<std::byte>(value >> (8 * (n_bytes - 1 - i)));
    };
    put(0, 6, own_mac);
    put(6, 6, 0x020000000100 + d.board);
    put(12, 2, 0x0800);
    put(14, 2, 0x4500);
    put(16, 2, 28 + n);
    put(20, 2, 0x4000);
    put(22, 2, 0x4011);
    put(26, 4, own_ip + 100 + d.board);
    put(30, 4, own_ip);
    put(24, 2, 0xffff - sum_of(f, 14, 20, 0));
    put(34, 2, 40'000 + d.board);
    put(36, 2, first_port + d.board);
    put(38, 2, 8 + n);
    std::memcpy(&f[42], d.bytes.data(), n);
    const std::uint32_t sum = 0xffff - sum_of(f, 26, 16 + n, 17 + 8 + static_cast<std::uint32_t>(n));
    put(40, 2, sum == 0 ? 0xffff : sum);
    if (f.size() < 60) f.resize(60);
    return f;
}

void set_up(host::Card& card, const card::Config& config, bool cut_through, std::uint32_t gathering) {
    const auto page_of_merged = n_boards;
    card.open_list(host::Card::merged_list, page_of_merged, 15 - page_of_merged, 1 << 16, gathering);
    for (std::uint32_t b = 0; b < n_boards; ++b) {
        card.open_list(b, b, 4, 1 << 14, gathering);
        card.write(registers::stream::port + b * registers::stream::stride, 1 << 16 | (first_port + b));
        card.write(registers::board::id + b * registers::board::stride, config.stream_to_id + b);
        card.write(registers::board::stream + b * registers::board::stride, b);
    }
    card.write(registers::merger::boards, config.mask);
    card.write(registers::merger::window, config.window);
    card.write(registers::merger::timeout, config.timeout_cycles);
    card.write(registers::merger::far_fine_low, static_cast<std::uint32_t>(config.far_fine));
    card.write(registers::merger::far_fine_high, static_cast<std::uint32_t>(config.far_fine >> 32));
    card.write(registers::merger::n_channels, config.n_channels);
    card.write(registers::merger::keep_incomplete, config.keep_incomplete);
    card.write(registers::merger::drop_when_full, config.drop_when_full);
    card.write(registers::address::mac_low, static_cast<std::uint32_t>(own_mac));
    card.write(registers::address::mac_high, static_cast<std::uint32_t>(own_mac >> 32));
    card.write(registers::address::ip, own_ip);
    card.write(registers::control::cut_through, cut_through);
    card.write(registers::control::enable, 1);
}

/// Records of a buffer: header and payload.
template <typename Each>
void each_record(const host::Buffer& buffer, Each each) {
    std::size_t at = 0;
    for (unsigned i = 0; i < buffer.completion.n_records; ++i) {
        registers::RecordHeader header;
        std::memcpy(&header, buffer.bytes + at, sizeof header);
        each(header, std::span(buffer.bytes + at + sizeof header, header.length));
        at += (sizeof header + header.length + 63) / 64 * 64;
    }
}

class Check {
  public:
    Check(const Settings& settings, const card::Config& config)
        : settings_(settings),
          config_(config),
          card_(settings.stalls, settings.seed),
          random_(settings.seed + 5),
          path_(merger_config(config)) {
        for (std::uint16_t b = 0; b < n_boards; ++b) parsers_.emplace_back(config.stream_to_id + b, b);
        card_.on_buffer = [this](const host::Buffer& buffer) { read_buffer(buffer); };
        set_up(card_, config, settings.cut_through, 2000);
        if (card_.read(registers::identity::n_boards) != n_boards) fail("identity.n_boards");
    }

    bool run(std::vector<Datagram> datagrams) {
        card_.write(registers::control::merge, settings_.merge == "1");
        for (const Datagram& d : datagrams) send(d);
        const auto began = std::chrono::steady_clock::now();
        const std::uint64_t first_cycle = card_.cycle;
        std::uint32_t merges = 0, change = 0;
        std::size_t n_sent = 0;
        while (!card_.sent_all()) {
            card_.step();
            if (card_.last_frame_rx == card_.cycle - 1) datagrams[n_sent++].stamp = card_.cycle - 1 - first_now;
            // The merger makes the last ends of burst, as it keeps fragments of a burst without an end.
            const bool is_last = card_.n_waiting() <= 3 * n_boards;
            if (settings_.merge == "both" && (change-- == 0 || (is_last && merges == 0))) {
                change = static_cast<std::uint32_t>(random_() % 2000);
                merges = is_last ? 1 : 1 - merges;
                card_.write_soon(registers::control::merge, merges);
            }
            if (failed_) return false;
        }
        const std::uint64_t rest = settings_.mode == "faults" ? 6 * std::uint64_t{config_.timeout_cycles} : 6000;
        const std::uint64_t sent = card_.cycle;
        while (card_.cycle < std::max(sent, card_.last_w) + rest && !failed_) card_.step();
        card_.write(registers::control::flush, 1);
        for (int i = 0; i < 6000; ++i) card_.step();
        seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        n_cycles_ = card_.cycle - first_cycle;
        n_lost_ = card_.read(registers::count::frames_overflow);
        if (n_lost_ > 0) return fail(std::to_string(n_lost_) + " frames had no room");
        if (card_.read(registers::control::idle) != 1) fail("the card is not idle");
        give_software(datagrams);
        compare();
        return !failed_;
    }

    void report() const {
        std::printf(
            "seed %llu %s merge %s%s stalls %.2f: %llu datagrams, %llu of them as they came, %zu events in %llu "
            "records, %llu ends of burst; %llu cycles, %.2f an event, %.0f cycles/s\n",
            static_cast<unsigned long long>(settings_.seed), settings_.mode.c_str(), settings_.merge.c_str(),
            settings_.cut_through ? " cut-through" : "", settings_.stalls,
            static_cast<unsigned long long>(n_datagrams_), static_cast<unsigned long long>(n_direct_), events_.size(),
            static_cast<unsigned long long>(n_records_), static_cast<unsigned long long>(n_ends_),
            static_cast<unsigned long long>(n_cycles_), cycles_an_event(), cycles_a_second());
    }
    /// Prints the card's state for a failed check, as far as the host can read it.
    void show_registers() {
        for (std::uint32_t at = registers::count::frames_accepted; at <= registers::count::silenced_7; at += 4)
            if (const std::uint32_t value = card_.read(at); value != 0) std::printf(" %#x:%u", at, value);
        std::printf("; silent %x ended %x fragments %u idle %u ring head %u missing page %x\n",
                    card_.read(registers::merger::silent), card_.read(registers::merger::ended),
                    card_.read(registers::merger::fragments), card_.read(registers::control::idle),
                    card_.read(registers::ring::head), card_.read(registers::page::missing));
    }
    double cycles_an_event() const {
        const std::uint32_t cycles = last_beat_ - first_beat_;
        return events_.size() > 1 ? static_cast<double>(cycles) / static_cast<double>(events_.size() - n_in_first_) : 0;
    }
    double cycles_a_second() const { return seconds_ > 0 ? static_cast<double>(n_cycles_) / seconds_ : 0; }
    std::uint64_t n_lost() const { return n_lost_; }
    double words_an_event() const {
        return static_cast<double>(n_words_) / static_cast<double>(std::max<std::size_t>(events_.size(), 1));
    }
    std::uint64_t n_events() const { return events_.size(); }

    bool is_quiet = false;

  private:
    static constexpr std::uint64_t first_now = 4;  ///< cycles of reset, in which the card's counter stands

    static anello::events::MergerConfig merger_config(const card::Config& config) {
        anello::events::MergerConfig merger;
        merger.n_boards = n_boards;
        merger.window_ticks = config.window;
        merger.timeout_ns = config.timeout_cycles;
        merger.keep_incomplete = config.keep_incomplete;
        merger.max_fragments_per_block = 12'000;
        merger.blocks_per_board = 64;
        merger.batch = {.max_events = 64U, .max_hits = 8192};
        return merger;
    }

    bool fail(const std::string& what) {
        if (!failed_ && !is_quiet)
            std::printf("FAILED seed %llu cycle %llu: %s\n", static_cast<unsigned long long>(settings_.seed),
                        static_cast<unsigned long long>(card_.cycle), what.c_str());
        failed_ = true;
        return false;
    }

    void send(const Datagram& d) {
        Frame frame{frame_of(d), d.is_bad, 3, d.pause_cycles};
        // The MAC does not wait; records have more words than their datagrams, and the memory may stall.
        const auto beats = static_cast<double>((frame.bytes.size() + 7) / 8);
        frame.gap += static_cast<std::uint32_t>(beats * ((1 + settings_.gaps) / (1 - settings_.stalls) - 1));
        ++n_datagrams_;
        card_.send(std::move(frame));
    }

    void read_buffer(const host::Buffer& buffer) {
        const auto& c = buffer.completion;
        n_end_completions_ += c.reason == 4;
        std::size_t n_bad = 0;
        const bool is_merged = c.list == host::Card::merged_list;
        each_record(buffer, [&](const registers::RecordHeader& header, std::span<const std::byte> payload) {
            n_bad += (header.flags & 5) != 0;
            if (header.stream != c.list) fail("a record of another list");
            if (!is_merged) {
                direct_[header.first_beat] = {header.stream, {payload.begin(), payload.end()}, (header.flags & 1) != 0};
                return;
            }
            ++n_records_;
            if (header.source_ip != 0 || header.source_port != 0 || payload.size() % 8 != 0 || (header.flags & 4) != 0)
                fail("a merged record that cannot be");
            read_events(header, payload);
        });
        if (n_bad != c.n_bad) fail("n_bad");
        const auto since = [&](std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(b - a); };
        const bool in_order = since(c.first_beat, c.parsed) > 0 && (!is_merged || since(c.parsed, c.merged) > 0) &&
                              since(is_merged ? c.merged : c.parsed, c.last_write) > 0;
        if (!in_order) fail("stamps of a completion are not in the order of time");
        if (!is_merged && c.merged != 0) fail("a merged stamp without a merger");
    }
    void read_events(const registers::RecordHeader& header, std::span<const std::byte> payload) {
        std::vector<std::uint64_t> words(payload.size() / 8);
        std::memcpy(words.data(), payload.data(), payload.size());
        n_words_ += words.size();
        bool ends = false;
        for (std::size_t at = 0; at < words.size();) {
            if (ends) fail("something behind an end of burst in one record");
            card::Event event;
            at += card::read_event(std::span(words).subspan(at), config_.channels_per_board, event);
            ends = (event.flags & 128) != 0;
            if (ends)
                ++n_ends_;
            else
                events_.push_back(std::move(event));
        }
        if (ends != ((header.flags & 2) != 0)) fail("flag of an end of burst");
        if (n_records_ == 1) first_beat_ = header.last_beat, n_in_first_ = events_.size();
        if (!ends) last_beat_ = header.last_beat;
    }

    /// Datagrams in records of their own must be unchanged; the software gets the others.
    void give_software(const std::vector<Datagram>& datagrams) {
        const bool has_faults = settings_.mode == "faults";
        for (const Datagram& d : datagrams) {
            const auto it = direct_.find(static_cast<std::uint32_t>(d.stamp));
            if (it != direct_.end()) {
                const Direct& record = it->second;
                if (record.stream != d.board || record.bytes != d.bytes || record.is_bad != d.is_bad)
                    fail("a record is not its datagram");
                ++n_direct_;
                continue;
            }
            if (d.is_bad) {
                ++n_bad_;
                // Even in cut-through, the card waits for the checks of a payload of one word.
                if (settings_.cut_through && d.bytes.size() > 8) ++verdicts_[card::bad_frame];
                continue;
            }
            std::vector<software::Block> blocks;
            ++verdicts_[static_cast<unsigned>(
                parsers_[d.board].parse(d.bytes, static_cast<std::int64_t>(d.stamp), blocks))];
            for (const software::Block& block : blocks) {
                n_fragments_ += block.fragments.size();
                if (!has_faults) path_.source.give(d.board, block);
            }
            if (!has_faults) path_.work();
        }
        if (n_direct_ != direct_.size()) fail("records of datagrams that never came");
        if (!has_faults && !path_.finish()) fail("the software does not end");
    }

    void same(const std::string& what, std::uint64_t of_card, std::uint64_t expected) {
        if (of_card != expected)
            fail(what + ": card " + std::to_string(of_card) + ", expected " + std::to_string(expected));
    }
    std::uint64_t counted(std::uint32_t first, std::uint32_t i = 0) { return card_.read(first + 4 * i); }

    void compare() {
        namespace c = registers::count;
        using enum anello::events::BuildCounter;
        using B = anello::events::BoardCounter;
        same("frames without room", counted(c::frames_overflow), 0);
        same("packets without room", counted(c::packets_dropped), 0);
        same("records without room", counted(c::records_dropped) + counted(c::records_too_long), 0);
        same("frames accepted and bad", counted(c::frames_accepted) + counted(c::frames_bad_fcs), n_datagrams_);
        for (unsigned v = 0; v < 14; ++v)
            same("verdict " + std::to_string(v), counted(c::datagrams_ok, v), verdicts_[v]);
        same("records written", counted(c::records_written), n_records_ + n_direct_);
        same("ends of burst", counted(c::bursts_ended), n_ends_);
        same("completions of ends of burst", n_end_completions_, n_ends_);
        same("events in memory", events_.size(),
             counted(c::events_complete) + counted(c::events_incomplete) - counted(c::events_rejected));
        std::uint64_t n_hits = 0, n_incomplete = 0;
        for (const card::Event& e : events_) n_hits += e.hit_id.size(), n_incomplete += e.flags & 1;
        same("hits", counted(registers::merger::hits), n_hits);
        if (!settings_.reject) same("flags of incomplete events", n_incomplete, counted(c::events_incomplete));
        std::uint64_t sum = counted(registers::merger::fragments);
        for (std::uint32_t b = 0; b < 8; ++b)
            sum += counted(c::late_0, b) + counted(c::duplicate_0, b) + counted(c::ahead_0, b);
        same("fragments with an outcome", sum, n_fragments_);
        if (settings_.mode == "faults") return;
        for (std::size_t i = 0; i < std::min(events_.size(), path_.found.size()); ++i)
            if (!(events_[i] == path_.found[i])) {
                fail("event " + std::to_string(i) + " differs");
                break;
            }
        same("events", events_.size(), path_.found.size());
        same("complete", counted(c::events_complete), path_.value(events_complete));
        same("incomplete", counted(c::events_incomplete), path_.value(events_incomplete));
        same("rejected", counted(c::events_rejected), path_.value(events_rejected));
        same("merged", counted(registers::merger::fragments), path_.value(fragments_merged));
        same("bursts", n_ends_, path_.value(bursts_out));
        for (std::uint32_t b = 0; b < n_boards; ++b) {
            const auto& of_board = path_.merger.board_counters(b);
            same("late", counted(c::late_0, b), of_board[B::fragments_late]);
            same("duplicate", counted(c::duplicate_0, b), of_board[B::fragments_duplicate]);
            same("ahead", counted(c::ahead_0, b), of_board[B::fragments_ahead]);
            same("missing", counted(c::missing_0, b), of_board[B::missing]);
            same("silences", counted(c::silenced_0, b), of_board[B::silences]);
        }
    }

    struct Direct {
        std::uint32_t stream;
        std::vector<std::byte> bytes;
        bool is_bad;
    };
    const Settings& settings_;
    const card::Config& config_;
    host::Card card_;
    std::mt19937_64 random_;
    software::Path path_;
    std::deque<software::Parser> parsers_;
    std::vector<card::Event> events_;
    std::map<std::uint32_t, Direct> direct_;  ///< by the cycle of their first beat
    std::array<std::uint64_t, 16> verdicts_{};
    std::uint64_t n_datagrams_ = 0, n_direct_ = 0, n_records_ = 0, n_ends_ = 0, n_end_completions_ = 0;
    std::uint64_t n_fragments_ = 0, n_bad_ = 0, n_in_first_ = 0, n_cycles_ = 0, n_lost_ = 0, n_words_ = 0;
    std::uint32_t first_beat_ = 0, last_beat_ = 0;
    double seconds_ = 0;
    bool failed_ = false;
};

card::Config config_of(const Settings& s) {
    card::Config config;
    Dice dice(s.seed * 77);
    config.window = s.mode == "na62" ? 1 : dice.below(6);
    config.keep_incomplete = !s.reject;
    config.timeout_cycles = s.mode == "faults" ? 100'000 : 100'000'000;
    if (s.mode == "na62") config.stream_to_id = 0;
    config.far_fine = static_cast<std::uint64_t>(static_cast<double>(config.timeout_cycles) / anello::fine_time_ns) +
                      config.window * 256;
    return config;
}

/// Makes one packet of a board, whose events have n_hits hits each.
Datagram packet(std::uint32_t board, std::uint32_t sequence, std::uint32_t ticks, const std::vector<unsigned>& n_hits) {
    std::vector<std::byte> bytes(mgp::header_bytes);
    for (const unsigned n : n_hits) {
        std::byte encoded[600];
        const std::vector<mgp::Hit> hits(n, mgp::Hit{7, 3});
        const std::size_t size = mgp::write_event(encoded, ticks, 0, hits, true);
        bytes.insert(bytes.end(), encoded, encoded + size);
        ticks += 100;
    }
    mgp::Header header;
    header.flags = mgp::hits_with_time | mgp::with_checksum;
    header.source_id = static_cast<std::uint16_t>(100 + board);
    header.n_events = static_cast<std::uint16_t>(n_hits.size());
    header.sequence = sequence;
    header.burst_id = 1;
    mgp::seal(bytes, header, bytes.size() - mgp::header_bytes);
    return {board, bytes};
}

/// Measures the same frame without merging: the share of the latency that receive path and memory path take.
std::uint64_t direct_latency(const Frame& frame) {
    const Settings settings;
    host::Card card(0, 1);
    set_up(card, config_of(settings), true, 1 << 20);
    card.send(frame);
    for (int i = 0; i < 3000; ++i) card.step();
    return card.last_w - n_header_words - card.last_frame_rx;
}

void measure_latency() {
    std::printf(
        "cut-through, all boards but the last have sent: cycles from the first beat of the last frame\n"
        "%8s %8s %22s %22s %30s\n",
        "payload", "events", "to its last beat", "to the last merged word", "without merging, last word");
    for (const std::size_t size : {64, 128, 256, 352, 512, 1024}) {
        Settings settings;
        settings.seed = 1;
        card::Config config = config_of(settings);
        config.window = 1;
        host::Card card(0, 1);
        set_up(card, config, true, 1 << 20);
        card.write(registers::control::merge, 1);
        // A first event begins the burst; by the boards' order, the last frame is from the last board.
        const unsigned n_events = size > 600 ? 2 : 1;
        const auto n_hits = static_cast<unsigned>((size - mgp::header_bytes) / n_events - 8) / 2;
        for (std::uint32_t b = 0; b < n_boards; ++b) card.send({frame_of(packet(b, 0, 1000, {1})), false, 3, 0});
        for (int i = 0; i < 1500; ++i) card.step();
        for (std::uint32_t b = 0; b + 1 < n_boards; ++b)
            card.send({frame_of(packet(b, 1, 2000, std::vector<unsigned>(n_events, 0))), false, 3, 0});
        for (int i = 0; i < 1500; ++i) card.step();
        const Datagram last = packet(n_boards - 1, 1, 2000, std::vector<unsigned>(n_events, n_hits));
        const Frame frame{frame_of(last), false, 3, 0};
        const std::size_t beats = (frame.bytes.size() + 7) / 8;
        card.send(frame);
        for (int i = 0; i < 3000; ++i) card.step();
        const std::uint64_t cycles = card.last_w - n_header_words - card.last_frame_rx;
        const std::uint64_t direct = direct_latency(frame);
        std::printf("%8zu %8u %22zu %15llu %.2f us %22llu %.2f us\n", last.bytes.size(), n_events, beats - 1,
                    static_cast<unsigned long long>(cycles), static_cast<double>(cycles) / clock_hz * 1e6,
                    static_cast<unsigned long long>(direct), static_cast<double>(direct) / clock_hz * 1e6);
    }
    Settings settings;
    const card::Config config = config_of(settings);
    host::Card card(0, 1);
    set_up(card, config, true, 0);
    card.first_rx = card.first_aw = 0;
    card.send({frame_of(packet(0, 0, 1000, std::vector<unsigned>(1, 200))), false, 3, 0});
    for (int i = 0; i < 1000; ++i) card.step();
    std::printf("merge 0, cut-through: a frame's first beat to AW %llu cycles\n",
                static_cast<unsigned long long>(card.first_aw - card.first_rx));
}

void measure(Settings settings) {
    settings.mode = "na62";
    settings.merge = "1";
    for (const bool has_times : {false, true}) {
        std::printf("NA62 mix, %u boards, hits %s time; frames ever closer, until one is lost\n", n_boards,
                    has_times ? "with" : "without");
        for (const double gaps : {1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0}) {
            settings.gaps = gaps;
            const card::Config config = config_of(settings);
            Check check(settings, config);
            check.is_quiet = true;
            const bool agree = check.run(front_ends::simulate_na62(settings, has_times));
            const double cycles = check.cycles_an_event();
            std::printf(
                "  %3.0f %% of the line: %llu events, %.2f words and %.2f cycles an event, %.1f M events/s at "
                "156.25 MHz, %llu frames lost, %s; %.0f cycles/s simulated\n",
                100 / (1 + gaps), static_cast<unsigned long long>(check.n_events()), check.words_an_event(), cycles,
                clock_hz / cycles * 1e-6, static_cast<unsigned long long>(check.n_lost()),
                agree ? "as the software has them" : "not compared", check.cycles_a_second());
            if (check.n_lost() > 0) break;
        }
    }
    measure_latency();
}

}  // namespace

int main(int n, char** words) {
    const Settings settings = read_settings(n, words);
    if (settings.measure) {
        measure(settings);
        return 0;
    }
    const card::Config config = config_of(settings);
    Check check(settings, config);
    const bool agree = check.run(settings.mode == "na62" ? front_ends::simulate_na62(settings, settings.seed % 2 == 0)
                                                         : front_ends::FrontEnds(settings, config).make());
    check.report();
    if (!agree) check.show_registers();
    return agree ? 0 : 1;
}
