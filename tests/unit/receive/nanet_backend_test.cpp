// SPDX-License-Identifier: Apache-2.0
#include "receive/nanet/nanet_backend.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/errors.hpp"
#include "receive/card/make_backend.hpp"
#include "unit/receive/capture_writer.hpp"
#include "unit/receive/nanet_library.hpp"
#include "unit/receive/udp_sender.hpp"

namespace anello::receive::nanet_backend_test {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Bytes frame_to(std::uint16_t port, std::size_t n_payload, int content = 1) {
    const UdpRoute route{{2, 1}, {2, 2}, test::captured_source, {0x0a000001, port}};
    Bytes frame(std::max(udp_header_bytes + n_payload, shortest_frame_bytes));
    write_udp_frame(route, Bytes(n_payload, static_cast<std::byte>(content)), frame);
    return frame;
}

/// Reads ports 6000 and 6001 of a capture as fast as possible.
BackendConfig of_capture(test::CaptureWriter& capture) {
    BackendConfig config;
    config.kind = BackendKind::nanet;
    config.nanet_library = test::nanet_library();
    config.ports = {6000, 6001};
    config.pcap_file = capture.finish();
    config.pcap_speed = 0;
    return config;
}

std::map<std::string, std::uint64_t> counted(const CounterPage& page) {
    std::map<std::string, std::uint64_t> values;
    for (const CounterPage::Sample& sample : page.read()) values[sample.name] = sample.value;
    return values;
}

std::size_t take_all(Backend& backend) {
    std::size_t n_datagrams = 0;
    std::vector<Datagram> batch(64);
    for (int n_idle = 0; n_idle < 4 || !backend.finished();) {
        const std::size_t n = backend.receive(batch);
        n_datagrams += n;
        n_idle = n == 0 ? n_idle + 1 : 0;
    }
    return n_datagrams;
}

std::string error_of(const BackendConfig& config) {
    try {
        make_backend(config, SystemClock::instance());
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

TEST(NanetLibrary, OneThatIsNotThereIsNamedWithWhatMakesIt) {
    BackendConfig config{.kind = BackendKind::nanet, .ports = {0}, .nanet_library = "/nowhere/card.so"};
    EXPECT_THAT(error_of(config), AllOf(HasSubstr("receive.nanet_library"), HasSubstr("/nowhere/card.so"),
                                        HasSubstr("anello nanet library")));
    config.nanet_library.clear();
    EXPECT_THAT(error_of(config), AllOf(HasSubstr("none"), HasSubstr("anello nanet library")));
}

TEST(NanetLibrary, AFileThatIsNoneIsRefused) {
    const std::string path = testing::TempDir() + "anello_no_library.so";
    std::ofstream(path) << "text";
    const BackendConfig config{.kind = BackendKind::nanet, .ports = {0}, .nanet_library = path};
    EXPECT_THAT(error_of(config), AllOf(HasSubstr("receive.nanet_library"), HasSubstr("can be loaded")));
    std::filesystem::remove(path);
}

/// Loads the same library as the backend, to set how often it answers.
class SilentCard : public testing::Test {
  protected:
    SilentCard() : library_(dlopen(ANELLO_SILENT_CARD, RTLD_NOW | RTLD_LOCAL)) {}
    ~SilentCard() override {
        if (library_ != nullptr) dlclose(library_);
    }
    void SetUp() override { ASSERT_NE(library_, nullptr) << dlerror(); }
    void answers(long n) { reinterpret_cast<void (*)(long)>(dlsym(library_, "silent_card_answers"))(n); }

    BackendConfig config_{
        .kind = BackendKind::nanet, .ports = {0}, .socket_buffer_bytes = 1 << 20, .nanet_library = ANELLO_SILENT_CARD};

  private:
    void* library_;
};

TEST_F(SilentCard, ThatNeverAnswersIsRefusedWithItsPathAndWhatToDo) {
    answers(0);
    EXPECT_THAT(error_of(config_), AllOf(HasSubstr("receive.nanet_library"), HasSubstr("answers each access"),
                                         HasSubstr(ANELLO_SILENT_CARD), HasSubstr("anello nanet library")));
}

TEST_F(SilentCard, ThatStopsWhileItIsSetUpIsRefused) {
    answers(70);  // the pages and the ring take 67
    EXPECT_THAT(error_of(config_), HasSubstr("answers each access"));
}

TEST_F(SilentCard, ThatStopsInARunIsGivenUpAndTold) {
    answers(1'000'000);
    CounterPage page;
    const auto backend = make_backend(config_, SystemClock::instance(), &page);
    EXPECT_EQ(backend->trouble(), "");
    answers(0);
    test::UdpSender(backend->port(0)).send(Bytes(50));
    std::vector<Datagram> batch(4);
    for (int i = 0; i < 100 && !backend->finished(); ++i) EXPECT_EQ(backend->receive(batch), 0U);
    EXPECT_TRUE(backend->finished());
    EXPECT_EQ(counted(page)["unanswered"], 1U);
    EXPECT_EQ(backend->refused(0), 1U);
    EXPECT_THAT(backend->trouble(), AllOf(HasSubstr("unanswered"), HasSubstr("anello nanet library")));
}

class NanetBackendTest : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = test::reason_without_nanet(); !reason.empty()) GTEST_SKIP() << reason;
    }
};

TEST_F(NanetBackendTest, MorePortsThanTheCardHasStreamsAreRefused) {
    const BackendConfig config{
        .kind = BackendKind::nanet, .ports = std::vector<std::uint16_t>(17, 0), .nanet_library = test::nanet_library()};
    EXPECT_THAT(error_of(config), AllOf(HasSubstr("receive.ports"), HasSubstr("17"), HasSubstr("1 to 16")));
}

TEST_F(NanetBackendTest, WhoTakesDatagramsIsRefusedMergedEvents) {
    const BackendConfig config{
        .kind = BackendKind::nanet, .ports = {0}, .nanet_library = test::nanet_library(), .nanet_merge = true};
    EXPECT_THAT(error_of(config), AllOf(HasSubstr("receive.nanet_merge"), HasSubstr("Set it to false")));
}

TEST_F(NanetBackendTest, SixteenStreamsHaveRoomForTheLongestFrames) {
    test::CaptureWriter capture;
    BackendConfig config = of_capture(capture);
    config.ports.clear();
    for (std::uint16_t port = 6000; port < 6016; ++port) config.ports.push_back(port);
    for (int i = 0; i < 6; ++i)
        for (std::uint16_t port = 6000; port < 6016; ++port) capture.add(frame_to(port, 8972));
    capture.finish();
    EXPECT_EQ(take_all(*make_backend(config, SystemClock::instance())), 96U);
}

/// Each frame is in one counter, and a frame for us that did not come is lost.
TEST_F(NanetBackendTest, EveryFrameIsAccountedFor) {
    test::CaptureWriter capture;
    for (int i = 0; i < 50; ++i) capture.add(frame_to(i % 3 == 0 ? 6000 : 6001, 100));
    Bytes wrong_udp = frame_to(6000, 100), wrong_ip = frame_to(6001, 100), arp(60);
    wrong_udp[60] ^= std::byte{1};
    wrong_ip[24] ^= std::byte{1};
    arp[12] = std::byte{8};
    arp[13] = std::byte{6};
    for (const Bytes& frame : {wrong_udp, wrong_ip, frame_to(7000, 40), arp, frame_to(6000, 12'500)})
        capture.add(frame);
    capture.add({});
    for (int i = 0; i < 40; ++i) capture.add(frame_to(6001, 40));
    CounterPage page;
    const auto backend = make_backend(of_capture(capture), SystemClock::instance(), &page);
    EXPECT_EQ(take_all(*backend), 90U);
    auto count = counted(page);
    EXPECT_EQ(count["frames"], 96U);
    EXPECT_EQ(count["datagrams"], 90U);
    EXPECT_EQ(count["refused"], 3U);
    EXPECT_EQ(count["other_frames"], 3U);
    EXPECT_EQ(count["frames_bad_udp_checksum"], 1U);
    EXPECT_EQ(count["frames_bad_ip_checksum"], 1U);
    EXPECT_EQ(count["frames_unknown_port"], 1U);
    EXPECT_EQ(count["frames_arp"], 1U);
    EXPECT_EQ(count["frames_not_ipv4"], 1U) << "one without a byte, filled up";
    EXPECT_EQ(count["records_too_long"], 1U);
    EXPECT_EQ(count["records_written"], 90U);
    std::uint64_t n_verdicts = 0;
    for (const auto& [name, value] : count) n_verdicts += name.starts_with("frames_") ? value : 0;
    EXPECT_EQ(n_verdicts, 96U);
    EXPECT_EQ(backend->kernel_dropped(0), 2U);
    EXPECT_EQ(backend->kernel_dropped(1), 1U);
    EXPECT_EQ(backend->refused(0), 2U);
    EXPECT_EQ(backend->refused(1), 1U);
}

/// Cycles are the card's: the same frames always take the same number.
TEST_F(NanetBackendTest, GatheringPutsRecordsTogether) {
    test::CaptureWriter capture;
    for (int i = 0; i < 20; ++i) capture.add(frame_to(6000, 100));
    const auto with_gathering = [&](std::uint32_t gathering) {
        BackendConfig config = of_capture(capture);
        config.nanet_gathering_cycles = gathering;
        CounterPage page;
        EXPECT_EQ(take_all(*make_backend(config, SystemClock::instance(), &page)), 20U);
        return counted(page);
    };
    auto alone = with_gathering(0), together = with_gathering(1000);
    EXPECT_EQ(with_gathering(1000), together);
    EXPECT_EQ(alone["buffers"], 20U);
    EXPECT_EQ(together["buffers"], 1U);
    EXPECT_GE(together["gather_cycles"], 1000U);
    EXPECT_LT(alone["gather_cycles"], 20U * 100);
    EXPECT_GE(together["receive_cycles"], 20U) << "the checksum is at the end of 18 words";
    EXPECT_LE(together["receive_cycles"], 30U);
}

/// The ring of completions has 256 places.
TEST_F(NanetBackendTest, CompletionsAreReadRoundByRoundOfTheirRing) {
    test::CaptureWriter capture;
    for (int i = 0; i < 1200; ++i) capture.add(frame_to(6000, 20, i));
    BackendConfig config = of_capture(capture);
    config.nanet_gathering_cycles = 0;
    CounterPage page;
    EXPECT_EQ(take_all(*make_backend(config, SystemClock::instance(), &page)), 1200U);
    EXPECT_EQ(counted(page)["buffers"], 1200U);
}

/// This includes records that the card has written already.
TEST_F(NanetBackendTest, WhatIsNotWantedAnyMoreStaysInTheCardsBuffers) {
    test::CaptureWriter capture;
    for (int i = 0; i < 10; ++i) capture.add(frame_to(6000, 100, i));
    const auto backend = make_backend(of_capture(capture), SystemClock::instance());
    std::vector<Datagram> batch(4);
    ASSERT_EQ(backend->receive(batch), 4U);
    backend->set_wanted(0, false);
    EXPECT_EQ(backend->receive(batch), 0U);
    EXPECT_FALSE(backend->finished());
    backend->set_wanted(0, true);
    ASSERT_EQ(backend->receive(batch), 4U);
    EXPECT_EQ(batch[0].bytes[0], std::byte{4});
    EXPECT_EQ(backend->receive(batch), 2U);
    EXPECT_TRUE(backend->finished());
}

TEST_F(NanetBackendTest, AStreamIsNotReadWhileRecordsOfItWait) {
    BackendConfig config{.kind = BackendKind::nanet, .ports = {0}, .nanet_library = test::nanet_library()};
    config.socket_buffer_bytes = 1 << 20;
    const auto backend = make_backend(config, SystemClock::instance());
    test::UdpSender sender(backend->port(0));
    for (int i = 0; i < 3; ++i) sender.send(Bytes(50));
    std::vector<Datagram> batch(1);
    for (std::size_t n = 0; n < 3;) {
        EXPECT_FALSE(n > 0 && backend->is_read(0)) << n;
        n += backend->receive(batch);
    }
    EXPECT_EQ(backend->receive(batch), 0U);
    EXPECT_TRUE(backend->is_read(0));
}

TEST_F(NanetBackendTest, DatagramsLieInTheCardsMemoryUntilTheNextCall) {
    test::CaptureWriter capture;
    for (int i = 0; i < 20; ++i) capture.add(frame_to(6000, 100, i));
    BackendConfig config = of_capture(capture);
    config.nanet_gathering_cycles = 1000;
    const auto backend = make_backend(config, SystemClock::instance());
    std::vector<Datagram> batch(64);
    const std::size_t n = backend->receive(batch);
    ASSERT_EQ(n, 20U);
    for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(Bytes(batch[i].bytes.begin(), batch[i].bytes.end()), Bytes(100, static_cast<std::byte>(i)));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(batch[i].bytes.data()) % 64, 32U) << "behind its record's header";
        EXPECT_EQ(batch[i].bytes.data() - batch[0].bytes.data(), static_cast<std::ptrdiff_t>(i * 192));
    }
}

TEST_F(NanetBackendTest, DatagramsOfSocketsKeepTheKernelsStampAndTheirSource) {
    BackendConfig config{.kind = BackendKind::nanet, .ports = {0}, .nanet_library = test::nanet_library()};
    config.socket_buffer_bytes = 1 << 20;
    const auto backend = make_backend(config, SystemClock::instance());
    test::UdpSender sender(backend->port(0));
    const Nanoseconds before_ns = SystemClock::instance().wall_ns();
    sender.send(Bytes(200, std::byte{5}));
    std::vector<Datagram> batch(4);
    std::size_t n = 0;
    for (int i = 0; n == 0 && i < 10'000'000; ++i) n = backend->receive(batch);
    ASSERT_EQ(n, 1U);
    EXPECT_EQ(to_text(batch[0].source), to_text(sender.source()));
    EXPECT_GE(batch[0].kernel_ns, before_ns);
    EXPECT_LE(batch[0].kernel_ns, SystemClock::instance().wall_ns());
    EXPECT_THAT(backend->describe(), AllOf(HasSubstr("simulation"), HasSubstr("Ethernet frame made here")));
}

}  // namespace
}  // namespace anello::receive::nanet_backend_test
