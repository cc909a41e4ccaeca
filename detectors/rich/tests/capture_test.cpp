// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pcap/pcap.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "rich/source/simulation.hpp"
#include "rich/source/source.hpp"
#include "source/simulated_time.hpp"
#include "source/sinks/pcap_sink.hpp"
#include "unit/source/capture_sink.hpp"

namespace anello::rich::capture_test {

using namespace anello::source;
using anello::source::test::CaptureSink;

namespace {

/// Sends everything to two sinks.
struct Tee final : PacketSink {
    Tee(PacketSink& a, PacketSink& b) : first(a), second(b) {}
    void send(std::span<const OutgoingDatagram> datagrams, anello::Nanoseconds now_ns,
              SendResult* results) noexcept override {
        first.send(datagrams, now_ns, results);
        second.send(datagrams, now_ns, results);
    }
    PacketSink &first, &second;
};

std::uint32_t sum_of_words(const u_char* from, std::size_t n_bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < n_bytes; i += 2) sum += static_cast<std::uint32_t>(from[i] << 8 | from[i + 1]);
    return (sum & 0xffff) + (sum >> 16);
}

TEST(PcapSink, LibpcapReadsBackWhatASimulatedRunSent) {
    const auto path = std::filesystem::temp_directory_path() / ("anello_pcap_" + std::to_string(getpid()) + ".pcap");
    const EventPool pool(RichSimulation(RichSimulationConfig{}).simulate(100), Format::mgp, true);
    RichSourceConfig config;
    config.n_bursts = 1;
    config.burst_ms = 2;
    for (std::uint32_t board = 0; board < 4; ++board)
        config.boards[board].port = static_cast<std::uint16_t>(6000 + board);
    CaptureSink captured;
    {
        PcapSink file(path.string(), config.boards);
        Tee tee(file, captured);
        anello::ManualClock clock(1'700'000'000'123'456'789);
        anello::CounterPage page;
        RichSource source(config, pool, tee, clock, page);
        run_in_simulated_time(source, clock);
        EXPECT_TRUE(file.flush());
    }
    char error[PCAP_ERRBUF_SIZE];
    pcap_t* handle = pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error);
    ASSERT_NE(handle, nullptr) << error;
    std::size_t n_seen[4] = {};
    pcap_pkthdr* header = nullptr;
    const u_char* frame = nullptr;
    while (pcap_next_ex(handle, &header, &frame) == 1) {
        const std::uint32_t port = static_cast<std::uint32_t>(frame[36] << 8 | frame[37]);
        ASSERT_GE(port, 6000U);
        ASSERT_LT(port, 6004U);
        const auto& sent = captured.streams[port - 6000][n_seen[port - 6000]++];
        ASSERT_EQ(header->caplen, sent.bytes.size() + PcapSink::frame_header_bytes);
        EXPECT_EQ(std::memcmp(frame + PcapSink::frame_header_bytes, sent.bytes.data(), sent.bytes.size()), 0);
        EXPECT_EQ(header->ts.tv_sec * 1'000'000'000 + header->ts.tv_usec, sent.sent_ns);
        EXPECT_EQ(sum_of_words(frame + 14, 20), 0xffffU);  // the IP header's checksum
    }
    pcap_close(handle);
    std::filesystem::remove(path);
    for (std::uint32_t board = 0; board < 4; ++board) {
        EXPECT_GT(n_seen[board], 6U);
        EXPECT_EQ(n_seen[board], captured.streams[board].size());
    }
}

}  // namespace
}  // namespace anello::rich::capture_test
