// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "camera/chain/outlet.hpp"
#include "camera/send/record.hpp"
#include "camera/tests/camera_event.hpp"
#include "pipeline/runner.hpp"

/// Ratio and speed (bytes of headers and waveforms per second) of camera records, by zstd level, shuffle, and whether
/// differences of samples are taken: on simulated NectarCAM events, and, where ANELLO_WAVEFORMS names a file of them,
/// on real ones: u16 [event][12 boards][2 gains][7 pixels][60 samples]. Names: data/level/shuffle/difference.
/// Names of the file's table, which has no differences: data/table/level/shuffle. stored/FORMAT/N: whole NectarCAM
/// events, compressed by N threads (0: by the one that writes) and written to a file of this format, per s, and bytes
/// of an event: the stages compress and send of a node as a node runs them, and one that gives in the filter's place.
namespace {

using namespace anello;
using Events = std::vector<std::unique_ptr<camera::test::CameraEvent>>;

Events simulated() {
    Events events;
    source::Random random(1);
    for (std::uint32_t e = 0; e < 4; ++e) {
        events.push_back(std::make_unique<camera::test::CameraEvent>(camera::test::CameraLayout{}, e));
        camera::test::fill_waveforms(*events.back(), random, 4, [](std::uint32_t p) { return p < 60 ? 20.0 : 0.0; });
    }
    return events;
}

Events read_file(const char* path) {
    constexpr camera::test::CameraLayout layout{.n_boards = 12, .boards_per_group = 12};
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    const std::size_t event_bytes = std::size_t{layout.n_boards} * layout.payload_bytes();
    Events events;
    for (std::size_t at = 0; at + event_bytes <= bytes.size(); at += event_bytes) {
        events.push_back(
            std::make_unique<camera::test::CameraEvent>(layout, static_cast<std::uint32_t>(events.size())));
        for (std::uint32_t board = 0; board < layout.n_boards; ++board)
            std::memcpy(events.back()->slot(board) + wire::camera::header_bytes,
                        bytes.data() + at + std::size_t{board} * layout.payload_bytes(), layout.payload_bytes());
    }
    return events;
}

camera::TableShape table_of(const Events& events) {
    const camera::test::CameraLayout& layout = events[0]->layout();
    return {layout.n_boards, layout.n_gains, layout.n_pixels, layout.n_samples};
}

void encode(benchmark::State& state, const Events& events, const camera::CompressionConfig& config) {
    camera::CameraEncoder encoder(config, events[0]->view().shape);
    std::vector<std::byte> record(encoder.max_record_bytes());
    std::size_t e = 0, n_in = 0, n_out = 0;
    for (auto _ : state) {
        const camera::EncodedEvent made = encoder.encode_event(events[e]->view(), record);
        n_in += made.body_bytes;
        n_out += made.record.size();
        e = (e + 1) % events.size();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(n_in));
    state.counters["ratio"] = static_cast<double>(n_in) / static_cast<double>(n_out);
}

void encode_table(benchmark::State& state, const Events& events, const camera::CompressionConfig& config) {
    camera::TableEncoder encoder(config, table_of(events));
    std::vector<std::byte> row(encoder.max_bytes());
    std::size_t e = 0, n_in = 0, n_out = 0;
    for (auto _ : state) {
        const camera::EncodedEvent made = encoder.encode_event(events[e]->view(), row);
        n_in += made.body_bytes;
        n_out += made.size();
        e = (e + 1) % events.size();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(n_in));
    state.counters["ratio"] = static_cast<double>(n_in) / static_cast<double>(n_out);
}

void decode(benchmark::State& state, const Events& events, const camera::CompressionConfig& config) {
    camera::CameraEncoder encoder(config, events[0]->view().shape);
    std::vector<std::byte> record(encoder.max_record_bytes());
    record.resize(encoder.encode_event(events[0]->view(), record).record.size());
    camera::CameraDecoder decoder;
    camera::CameraRecord decoded;
    for (auto _ : state) benchmark::DoNotOptimize(decoder.decode(record, decoded));
    state.SetBytesProcessed(state.iterations() *
                            static_cast<std::int64_t>(decoded.headers.size() + decoded.waveforms.size()));
}

/// Replaces the stage filter: it gives the number of events that the test asks for, and takes them back.
class Giver {
  public:
    Giver(const Events& events, camera::KeptEvents& kept) : events_(events), kept_(kept) {}
    pipeline::Stage stage() {
        return {.name = "filter",
                .do_work = [this](std::uint32_t) { return do_work(); },
                .longest_wait_ns = [](std::uint32_t) { return usual_wait_ns; }};
    }
    void give(std::uint64_t n) {
        n_wanted_.fetch_add(n);
        while (n_back_.load() < n_wanted_.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

  private:
    std::size_t do_work() noexcept {
        constexpr std::size_t most_at_once = 16;
        std::size_t n_done = 0;
        for (; kept_.try_reclaim() != nullptr; ++n_done) n_back_.fetch_add(1);
        for (std::size_t i = 0; i < most_at_once && n_given_ < n_wanted_.load(); ++i) {
            if (!kept_.try_give(events_[n_given_ % events_.size()]->view(), {}, {})) break;
            ++n_given_;
            ++n_done;
        }
        return n_done;
    }

    const Events& events_;
    camera::KeptEvents& kept_;
    std::uint64_t n_given_ = 0;
    std::atomic<std::uint64_t> n_wanted_{0}, n_back_{0};
};

void compress_and_store(benchmark::State& state, const Events& events, camera::FileFormat format) {
    constexpr std::uint32_t n_places = 256;
    constexpr std::int64_t n_at_once = 2000;
    const auto n_threads = static_cast<std::uint32_t>(state.range(0));
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "anello-compression-bench.h5";
    std::filesystem::remove(path);  // of a benchmark that was broken off: no file is written over
    camera::CameraOutletConfig config;
    config.compression.n_threads = static_cast<std::int32_t>(n_threads);
    config.file = path.string();
    config.file_format = format;
    CounterPage page;
    camera::KeptEvents kept(n_places, 0, n_threads);
    camera::CompressionChoices choices(config.compression);
    const camera::CameraShape shape = events[0]->view().shape;
    camera::CameraDispatch dispatch(config, choices, kept, shape, SystemClock::instance(), page);
    camera::CameraEncoding encoding(config.encoding(shape), choices, kept, shape);
    Giver giver(events, kept);
    std::vector<pipeline::Stage> stages{giver.stage()};
    if (n_threads > 0) stages.push_back(encoding.stage());
    stages.push_back(dispatch.stage());
    {
        pipeline::Runner runner;
        runner.add({std::move(stages), {}});
        runner.start();
        while (state.KeepRunningBatch(n_at_once)) giver.give(n_at_once);
        runner.stop();
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["file_bytes"] =
        static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(state.iterations());
    std::filesystem::remove(path);
}

void add(const std::string& data, const Events& events) {
    constexpr const char* shuffles[]{"none", "byte", "bit"};
    benchmark::RegisterBenchmark((data + "/0/none/0").c_str(), encode, std::cref(events),
                                 camera::CompressionConfig{0, camera::Shuffle::none, false});
    for (const int level : {1, 3})
        for (const auto how : {camera::Shuffle::none, camera::Shuffle::byte, camera::Shuffle::bit})
            for (const bool difference : {false, true}) {
                const std::string name = data + "/" + std::to_string(level) + "/" +
                                         shuffles[static_cast<std::size_t>(how)] + (difference ? "/1" : "/0");
                benchmark::RegisterBenchmark(name.c_str(), encode, std::cref(events),
                                             camera::CompressionConfig{level, how, difference});
            }
    for (const auto how : {camera::Shuffle::none, camera::Shuffle::byte, camera::Shuffle::bit})
        benchmark::RegisterBenchmark((data + "/table/1/" + word_of(how)).c_str(), encode_table, std::cref(events),
                                     camera::CompressionConfig{1, how, false});
    benchmark::RegisterBenchmark((data + "/decode").c_str(), decode, std::cref(events),
                                 camera::CompressionConfig{1, camera::Shuffle::byte, true});
}

}  // namespace

int main(int argc, char** argv) {
    const Events made = simulated();
    const char* const path = std::getenv("ANELLO_WAVEFORMS");
    const Events read = path != nullptr ? read_file(path) : Events{};
    add("simulated", made);
    for (const camera::FileFormat format : {camera::FileFormat::table, camera::FileFormat::records})
        benchmark::RegisterBenchmark((std::string("stored/") + word_of(format)).c_str(), compress_and_store,
                                     std::cref(made), format)
            ->Arg(0)
            ->Arg(1)
            ->Arg(2)
            ->UseRealTime()
            ->Iterations(2000);
    if (!read.empty()) add("file", read);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
