// SPDX-License-Identifier: Apache-2.0
// Sends a capture file's frames through the whole card, and prints outcomes as JSON for `anello nanet simulate`.
//
//   nanet_simulate FILE --ports P[,P...] [--merge] [--cut-through] [--paced] [--gathering CYCLES] [--frames N]
//                  [--trace CYCLES]
//
// Port k is stream k. Each record is compared with the payload of its frame. --merge: board k is stream k, and the
// merged events are compared with those of Anello's own parser and merger, from the same datagrams. --paced: frames
// come as far apart as they were captured, otherwise as fast as the line allows. --frames: only the first N. --trace:
// prints the ports, cycle by cycle, from the first word on. Exit code 0: the card ended in order, even if it dropped
// frames; 3: the capture cannot be used.
#include <pcap/pcap.h>

#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "nanet_card.hpp"
#include "software_path.hpp"

namespace {

namespace registers = anello::nanet;
using host::Frame;

constexpr double cycle_ns = 6.4;
constexpr std::uint32_t max_streams = 14;  // pages of the model's memory, less those of merged events and of the ring
constexpr std::size_t shortest_frame = 60, most_waiting = 64;
constexpr std::uint32_t longest_pause = 1'000'000'000;

[[noreturn]] void refuse(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(3);
}

struct Settings {
    std::string file;
    std::vector<std::uint16_t> ports;
    bool merge = false, cut_through = false, paced = false;
    std::uint32_t gathering = 2000;
    std::uint64_t frames = UINT64_MAX, trace = 0;
};

Settings read_settings(int n, char** words) {
    Settings s;
    for (int i = 1; i < n; ++i) {
        const std::string word = words[i];
        if (word == "--merge")
            s.merge = true;
        else if (word == "--cut-through")
            s.cut_through = true;
        else if (word == "--paced")
            s.paced = true;
        else if (word == "--gathering" && i + 1 < n)
            s.gathering = static_cast<std::uint32_t>(std::stoul(words[++i]));
        else if (word == "--frames" && i + 1 < n)
            s.frames = std::stoull(words[++i]);
        else if (word == "--trace" && i + 1 < n)
            s.trace = std::stoull(words[++i]);
        else if (word == "--ports" && i + 1 < n)
            for (std::string list = std::string(words[++i]) + ","; !list.empty(); list.erase(0, list.find(',') + 1))
                s.ports.push_back(static_cast<std::uint16_t>(std::stoul(list)));
        else
            s.file = word;
    }
    if (s.file.empty() || s.ports.empty()) refuse("nanet_simulate FILE --ports P[,P...]");
    if (s.ports.size() > max_streams || (s.merge && s.ports.size() != card::n_boards))
        refuse("at most 14 ports; with --merge as many as the card has boards");
    return s;
}

/// Reads Ethernet frames from a capture file, and pads short ones, as a MAC does.
class Capture {
  public:
    explicit Capture(const std::string& path) {
        char error[PCAP_ERRBUF_SIZE];
        file_.reset(pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error));
        if (!file_) refuse(error);
        if (pcap_datalink(file_.get()) != DLT_EN10MB) refuse(path + ": its frames are not of Ethernet");
    }
    /// Reads the next frame; false: there is none.
    bool next(std::vector<std::byte>& bytes, std::int64_t& stamp_ns) {
        pcap_pkthdr* header = nullptr;
        const unsigned char* data = nullptr;
        const int found = pcap_next_ex(file_.get(), &header, &data);
        if (found == PCAP_ERROR) refuse(pcap_geterr(file_.get()));
        if (found != 1) return false;
        if (header->caplen != header->len) refuse("a frame was not captured whole");
        const auto* const from = reinterpret_cast<const std::byte*>(data);
        bytes.assign(from, from + header->caplen);
        bytes.resize(std::max(bytes.size(), shortest_frame));
        stamp_ns = std::int64_t{header->ts.tv_sec} * 1'000'000'000 + header->ts.tv_usec;
        return true;
    }

  private:
    struct Close {
        void operator()(pcap_t* file) const { pcap_close(file); }
    };
    std::unique_ptr<pcap_t, Close> file_;
};

struct Datagram {
    std::uint32_t stream;
    std::vector<std::byte> payload;
};

/// Reads a frame's payload without any check; false: it is not for one of the ports.
bool payload_of(std::span<const std::byte> frame, const std::vector<std::uint16_t>& ports, Datagram& found) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(frame[i]); };
    const auto two = [&](std::size_t i) { return at(i) << 8 | at(i + 1); };
    std::size_t ip = two(12) == 0x8100 ? 18 : 14;
    if (frame.size() < ip + 28 || two(ip - 2) != 0x0800 || at(ip) >> 4 != 4 || at(ip + 9) != 17) return false;
    const std::size_t udp = ip + 4 * (at(ip) & 15);
    if (frame.size() < udp + 8) return false;
    const auto port = std::find(ports.begin(), ports.end(), two(udp + 2));
    const std::size_t length = two(udp + 4);
    if (port == ports.end() || length < 8 || frame.size() < udp + length) return false;
    found.stream = static_cast<std::uint32_t>(port - ports.begin());
    found.payload.assign(frame.begin() + static_cast<std::ptrdiff_t>(udp) + 8,
                         frame.begin() + static_cast<std::ptrdiff_t>(udp + length));
    return true;
}

/// Values of a quantity, such as cycles; prints how they are distributed.
struct Spread {
    std::vector<std::uint32_t> values;
    void print(const char* name, const char* end) {
        std::sort(values.begin(), values.end());
        const auto at = [&](double share) {
            return values.empty() ? 0U
                                  : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
        };
        std::printf("\"%s\": {\"n\": %zu, \"min\": %u, \"p50\": %u, \"p99\": %u, \"max\": %u}%s", name, values.size(),
                    at(0), at(0.5), at(0.99), at(1), end);
    }
};

/// Trace of the card's ports, a letter per cycle: '.' no word, '=' a word, '#' the last word, 'w' a word that waits.
class Trace {
  public:
    void look(const Vnanet_io& ports, std::size_t n_cycles) {
        if (lines_[0].empty() && !ports.rx_tvalid) return;
        if (lines_[0].size() == n_cycles) return;
        const auto letter = [](bool valid, bool ready, bool last) {
            return !valid ? '.' : !ready ? 'w' : last ? '#' : '=';
        };
        lines_[0] += letter(ports.rx_tvalid, true, ports.rx_tlast);
        lines_[1] += letter(ports.m_axi_awvalid, ports.m_axi_awready, true);
        lines_[2] += letter(ports.m_axi_wvalid, ports.m_axi_wready, ports.m_axi_wlast);
        lines_[3] += letter(ports.m_axi_bvalid, ports.m_axi_bready, true);
    }
    void print() const {
        const char* const names[] = {"rx", "m_axi_aw", "m_axi_w", "m_axi_b"};
        const char* before = "\"trace\": {";
        for (int i = 0; i < 4; ++i, before = ", ") std::printf("%s\"%s\": \"%s\"", before, names[i], lines_[i].c_str());
        std::printf("}, ");
    }

  private:
    std::string lines_[4];
};

anello::events::MergerConfig merger_config(const card::Config& config) {
    anello::events::MergerConfig merger;
    merger.n_boards = card::n_boards;
    merger.window_ticks = config.window;
    merger.timeout_ns = config.timeout_cycles;
    merger.keep_incomplete = config.keep_incomplete;
    merger.max_fragments_per_block = 12'000;
    merger.blocks_per_board = 64;
    merger.batch = {.max_events = 64U, .max_hits = 8192};
    return merger;
}

class Simulation {
  public:
    explicit Simulation(const Settings& settings)
        : settings_(settings), capture_(settings.file), card_(0, 1), path_(merger_config(config_)) {
        config_.timeout_cycles = 100'000'000;
        if (settings_.trace > 0)
            card_.on_cycle = [this](const Vnanet_io& ports) { trace_.look(ports, settings_.trace); };
        card_.on_buffer = [this](const host::Buffer& buffer) { read_buffer(buffer); };
    }

    void run() {
        look_ahead();
        set_up();
        const auto began = std::chrono::steady_clock::now();
        feed();
        const std::uint64_t sent = card_.cycle;
        while (card_.cycle < std::max(sent, card_.last_w) + settle_cycles) card_.step();
        card_.write(registers::control::flush, 1);
        for (int i = 0; i < settle_cycles; ++i) card_.step();
        seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        is_idle_ = card_.read(registers::control::idle) == 1;
        if (settings_.merge) compare_events();
    }

    void print() {
        std::printf("{\"frames\": %llu, \"bytes\": %llu, \"datagrams\": %llu, \"cycles\": %llu, \"seconds\": %.6f, ",
                    number(n_frames_), number(n_bytes_), number(n_datagrams_), number(card_.cycle), seconds_);
        std::printf("\"is_idle\": %s, \"records\": %llu, \"wrong_records\": %llu, \"events\": %zu, ",
                    is_idle_ ? "true" : "false", number(n_records_), number(n_wrong_), events_.size());
        std::printf("\"software_events\": %zu, \"differing_events\": %llu, ", path_.found.size(), number(n_differ_));
        std::printf("\"stream_records\": [");
        for (std::size_t i = 0; i < settings_.ports.size(); ++i)
            std::printf("%s%llu", i == 0 ? "" : ", ", number(of_stream_[i]));
        std::printf("], \"cycles_of\": {");
        receive_.print("first_to_last_beat", ", ");
        parsed_.print("first_beat_to_parsed", ", ");
        merged_.print("parsed_to_merged", ", ");
        written_.print("first_beat_to_last_write", ", ");
        gathered_.print("records_in_a_buffer", "}, ");
        trace_.print();
        std::printf("\"count\": {");
        const char* comma = "";
        for (std::uint32_t a = registers::count::frames_accepted; a <= registers::count::silenced_7; a += 4) {
            std::printf("%s\"%u\": %u", comma, a, card_.read(a));
            comma = ", ";
        }
        std::printf("}}\n");
    }

  private:
    static constexpr int settle_cycles = 8000;
    static unsigned long long number(std::uint64_t n) { return n; }

    /// The boards' source ids, from their first packets: in MGP they follow magic, version and length.
    void look_ahead() {
        if (!settings_.merge) return;
        Capture ahead(settings_.file);
        std::vector<std::byte> bytes;
        std::int64_t stamp = 0;
        std::map<std::uint32_t, std::uint32_t> ids;
        for (Datagram d; ids.size() < card::n_boards && ahead.next(bytes, stamp);)
            if (payload_of(bytes, settings_.ports, d) && d.payload.size() >= 32)
                ids.emplace(d.stream,
                            static_cast<std::uint32_t>(d.payload[8]) | static_cast<std::uint32_t>(d.payload[9]) << 8);
        for (std::uint32_t b = 0; b < card::n_boards; ++b) {
            if (!ids.contains(b)) refuse("port " + std::to_string(settings_.ports[b]) + " has no packet of a board");
            id_[b] = ids[b];
            parsers_.emplace_back(id_[b], static_cast<std::uint16_t>(b));
        }
    }

    void set_up() {
        const auto n_streams = static_cast<std::uint32_t>(settings_.ports.size());
        for (std::uint32_t s = 0; s < n_streams; ++s) {
            card_.open_list(s, s, 4, 1 << 14, settings_.gathering);
            card_.write(registers::stream::port + s * registers::stream::stride, 1U << 16 | settings_.ports[s]);
        }
        card_.open_list(host::Card::merged_list, n_streams, 15 - n_streams, 1 << 16, settings_.gathering);
        for (std::uint32_t b = 0; settings_.merge && b < card::n_boards; ++b) {
            card_.write(registers::board::id + b * registers::board::stride, id_[b]);
            card_.write(registers::board::stream + b * registers::board::stride, b);
        }
        const double far = static_cast<double>(config_.timeout_cycles) / anello::fine_time_ns + 256;
        const auto far_fine = static_cast<std::uint64_t>(far);
        card_.write(registers::merger::boards, config_.mask);
        card_.write(registers::merger::window, config_.window);
        card_.write(registers::merger::timeout, config_.timeout_cycles);
        card_.write(registers::merger::far_fine_low, static_cast<std::uint32_t>(far_fine));
        card_.write(registers::merger::far_fine_high, static_cast<std::uint32_t>(far_fine >> 32));
        card_.write(registers::merger::n_channels, config_.n_channels);
        card_.write(registers::merger::keep_incomplete, 1);
        card_.write(registers::control::promiscuous, 1);
        card_.write(registers::control::cut_through, settings_.cut_through);
        card_.write(registers::control::merge, settings_.merge);
        card_.write(registers::control::enable, 1);
    }

    void feed() {
        std::vector<std::byte> bytes;
        std::int64_t stamp = 0, last = 0;
        std::uint64_t last_words = 0;
        while (n_frames_ < settings_.frames && capture_.next(bytes, stamp)) {
            Frame frame{bytes, false, 3, 0};
            const std::uint64_t n_words = (bytes.size() + 7) / 8 + 3;
            if (settings_.paced && n_frames_ > 0) {
                const double wanted = static_cast<double>(stamp - last) / cycle_ns - static_cast<double>(last_words);
                frame.pause = static_cast<std::uint32_t>(std::clamp(wanted, 0.0, double{longest_pause}));
            }
            last = stamp;
            last_words = n_words;
            ++n_frames_;
            n_bytes_ += bytes.size();
            if (Datagram d; payload_of(bytes, settings_.ports, d)) {
                ++n_datagrams_;
                expected_[d.stream].push_back(std::move(d.payload));
            }
            card_.send(std::move(frame));
            while (card_.n_waiting() > most_waiting) card_.step();
        }
        while (!card_.sent_all()) card_.step();
    }

    void read_buffer(const host::Buffer& buffer) {
        const registers::Completion& c = buffer.completion;
        const bool is_merged = c.list == host::Card::merged_list;
        std::size_t at = 0;
        for (unsigned i = 0; i < c.n_records; ++i) {
            registers::RecordHeader header;
            if (at + sizeof header > c.used_bytes) return void(++n_wrong_);
            std::memcpy(&header, buffer.bytes + at, sizeof header);
            if (at + sizeof header + header.length > c.used_bytes) return void(++n_wrong_);
            const std::span payload(buffer.bytes + at + sizeof header, header.length);
            ++n_records_;
            receive_.values.push_back(header.last_beat - header.first_beat);
            written_.values.push_back(c.last_write - header.first_beat);
            if (is_merged)
                read_events(payload);
            else
                check_record(c.list, header, payload);
            at += (sizeof header + header.length + 63) / 64 * 64;
        }
        gathered_.values.push_back(c.n_records);
        parsed_.values.push_back(c.parsed - c.first_beat);
        if (is_merged) merged_.values.push_back(c.merged - c.parsed);
    }

    /// Streams keep their order; a payload without a record was dropped, and the card has counted it.
    void check_record(std::uint32_t stream, const registers::RecordHeader& header, std::span<const std::byte> payload) {
        if (stream >= settings_.ports.size()) return void(++n_wrong_);
        ++of_stream_[stream];
        if ((header.flags & 5) != 0) return;  // the card marked it as bad
        auto& waiting = expected_[stream];
        while (!waiting.empty()) {
            const bool is_it = std::ranges::equal(waiting.front(), payload);
            waiting.pop_front();
            if (is_it) return;
        }
        ++n_wrong_;
    }

    void read_events(std::span<const std::byte> payload) {
        std::vector<std::uint64_t> words(payload.size() / 8);
        std::memcpy(words.data(), payload.data(), 8 * words.size());
        for (std::size_t at = 0; at < words.size();) {
            card::Event event;
            at += card::read_event(std::span(words).subspan(at), config_.channels_per_board, event);
            if ((event.flags & 128) == 0) events_.push_back(std::move(event));
        }
    }

    /// Reads the capture again, as the datagrams of all boards are needed in its order.
    void compare_events() {
        Capture again(settings_.file);
        std::vector<std::byte> bytes;
        std::int64_t stamp = 0;
        std::int64_t number = 0;
        for (Datagram d; again.next(bytes, stamp);) {
            if (!payload_of(bytes, settings_.ports, d)) continue;
            std::vector<software::Block> blocks;
            parsers_[d.stream].parse(d.payload, ++number, blocks);
            for (const software::Block& block : blocks) path_.source.give(d.stream, block);
            path_.work();
        }
        path_.finish();
        const std::size_t n = std::max(events_.size(), path_.found.size());
        for (std::size_t i = 0; i < n; ++i)
            n_differ_ += i >= events_.size() || i >= path_.found.size() || !(events_[i] == path_.found[i]);
    }

    const Settings settings_;
    Capture capture_;
    card::Config config_;
    host::Card card_;
    software::Path path_;
    std::deque<software::Parser> parsers_;
    std::uint32_t id_[card::n_boards] = {};
    std::map<std::uint32_t, std::deque<std::vector<std::byte>>> expected_;
    std::vector<card::Event> events_;
    Trace trace_;
    Spread receive_, parsed_, merged_, written_, gathered_;
    std::uint64_t of_stream_[16] = {};
    std::uint64_t n_frames_ = 0, n_bytes_ = 0, n_datagrams_ = 0, n_records_ = 0, n_wrong_ = 0, n_differ_ = 0;
    double seconds_ = 0;
    bool is_idle_ = false;
};

}  // namespace

int main(int n, char** words) {
    const Settings settings = read_settings(n, words);
    const auto simulation = std::make_unique<Simulation>(settings);
    simulation->run();
    simulation->print();
    return 0;
}
