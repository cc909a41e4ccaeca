// SPDX-License-Identifier: Apache-2.0
/// How long one batch takes from hits in memory to rings in memory, all copies included, by the wall clock.
///   batch_latency [--isas cuda,automatic] [--batch 2000] [--passes 300] [--algorithm multiring] [--memory host]
///                 [--set multiring.groups=2]...
/// --memory: where the hits lie, host, or pinned, as in a node whose decider puts them where the device reads them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "memory/persistent_buffers.hpp"
#include "rich/tests/rings/sample.hpp"
#include "rings/parameters.hpp"
#include "rings/place.hpp"

namespace {

using namespace anello::rich;

struct Options {
    std::vector<std::string> isas{"cuda", "automatic"}, assignments;
    int batch = 2000, passes = 300;
    std::string algorithm = "multiring";
    anello::memory::Kind memory = anello::memory::Kind::host;
};

Options parse_options(int argc, char** argv) {
    Options o;
    for (int k = 1; k + 1 < argc; k += 2) {
        const std::string name = argv[k], value = argv[k + 1];
        if (name == "--isas") {
            o.isas.assign(1, "");
            for (const char c : value) c == ',' ? void(o.isas.emplace_back()) : o.isas.back().push_back(c);
        } else if (name == "--batch")
            o.batch = std::stoi(value);
        else if (name == "--passes")
            o.passes = std::max(std::stoi(value), 1);
        else if (name == "--algorithm")
            o.algorithm = value;
        else if (name == "--memory")
            o.memory = anello::memory::parse_kind(value, "--memory");
        else if (name == "--set")
            o.assignments.push_back(value);
        else {
            fmt::print(stderr, "unknown option {}\n", name);
            std::exit(2);
        }
    }
    return o;
}

/// A sample's columns, one after the other.
class Batch {
  public:
    Batch(const rings::Sample& sample, anello::memory::Kind kind)
        : n_events_(sample.n_events()),
          n_hits_(sample.x_mm.size()),
          buffers_({.n_buffers = 2,
                    .buffer_bytes = (n_events_ + 1) * sizeof(std::uint32_t) + 2 * n_hits_ * sizeof(float),
                    .kind = kind}) {
        auto* offset = reinterpret_cast<std::uint32_t*>(buffers_.bytes(0).data());
        auto* x_mm = reinterpret_cast<float*>(std::copy_n(sample.hit_offset.begin(), n_events_ + 1, offset));
        std::copy_n(sample.y_mm.begin(), n_hits_, std::copy_n(sample.x_mm.begin(), n_hits_, x_mm));
        view_ = {n_events_, offset, x_mm, x_mm + n_hits_};
    }
    const HitsView& view() const { return view_; }
    const std::string& note() const { return buffers_.kind_note(); }

  private:
    std::uint32_t n_events_;
    std::size_t n_hits_;
    anello::memory::PersistentBuffers buffers_;
    HitsView view_{};
};

/// Batches differ, so that nothing stays in a cache that would not in a run, and small ones hold events of all kinds.
void measure(const Options& o, const rings::Place& place) {
    const int n_batches = std::clamp(16'000 / o.batch, 8, 4000);
    std::vector<std::unique_ptr<Batch>> batches;
    rings::SampleConfig config;
    config.n_rings = -1;
    for (int k = 0; k < n_batches; ++k)
        batches.push_back(std::make_unique<Batch>(
            rings::simulate(rings::PmtLattice(), config, 7500 + static_cast<std::uint64_t>(k), o.batch), o.memory));
    if (!batches.front()->note().empty()) fmt::print(stderr, "batch_latency: {}\n", batches.front()->note());
    std::vector<EventRings> out(static_cast<std::size_t>(o.batch));
    std::vector<double> us;
    std::size_t n_cut = 0;
    for (int pass = -n_batches; pass < o.passes; ++pass) {  // the first round warms up
        const Batch& batch = *batches[static_cast<std::size_t>(pass + n_batches) % n_batches];
        const auto start = std::chrono::steady_clock::now();
        place.find(batch.view(), out.data());
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        if (pass < 0) continue;
        us.push_back(took.count());
        n_cut += static_cast<std::size_t>(
            std::ranges::count_if(out, [](const EventRings& event) { return (event.flags & search_cut) != 0; }));
    }
    std::sort(us.begin(), us.end());
    const auto share = [&](double p) { return us[static_cast<std::size_t>(p * static_cast<double>(us.size() - 1))]; };
    const double median = share(0.5);
    fmt::print(R"({{"bench":"rings-batch","algorithm":"{}","isa":"{}","events":{},"passes":{},"us_median":{:.1f},)"
               R"("us_p99":{:.1f},"us_p999":{:.1f},"us_min":{:.1f},"us_max":{:.1f},)"
               R"("million_events_per_s":{:.2f},"cut_share":{:.5f},"memory":"{}"}})"
               "\n",
               o.algorithm, place.name, o.batch, o.passes, median, share(0.99), share(0.999), us.front(), us.back(),
               o.batch / median, static_cast<double>(n_cut) / o.batch / static_cast<double>(us.size()),
               anello::memory::name_of(o.memory));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options options = parse_options(argc, argv);
        RingFinderConfig config;
        config.algorithm = parse_algorithm(options.algorithm);
        for (const auto& assignment : options.assignments) rings::set_parameter(config, assignment);
        for (const auto& isa : options.isas)
            if (const auto place = rings::place_of(isa, config, static_cast<std::uint32_t>(options.batch)))
                measure(options, *place);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "batch_latency: {}\n", error.what());
        return 1;
    }
}
