// SPDX-License-Identifier: Apache-2.0
#include "measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace anello::plan {
namespace {

constexpr double begin_share = 0.3, end_share = 0.8;  // of the messages, delivered
constexpr std::uint64_t look_at_clock_every = 256;
constexpr std::chrono::milliseconds show_every{500};

double now_ns() {
    return simgrid::s4u::Engine::get_clock() * 1e9;
}

double quantile(const std::vector<double>& sorted, double share) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * double(sorted.size())));
    return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace

Measurement::Measurement(const PlanConfig& config, Network& network)
    : config_(config),
      network_(network),
      n_messages_(std::uint64_t{config.n_meps} * config.n_nodes),
      n_begin_(static_cast<std::uint64_t>(double(n_messages_) * begin_share)),
      n_end_(static_cast<std::uint64_t>(double(n_messages_) * end_share)),
      shown_(std::chrono::steady_clock::now()) {
    latencies_ns_.reserve(config.n_meps);
}

void Measurement::delivered(std::uint32_t from, std::uint32_t to) {
    network_.count(from, to, config_.message_bytes);
    ++n_delivered_;
    if (n_delivered_ == n_begin_) begin_window();
    if (n_delivered_ == n_end_) end_window();
    if (n_delivered_ % look_at_clock_every == 0) show_progress();
}

void Measurement::begin_window() {
    begin_ns_ = now_ns();
    network_.clear_loads();
}

void Measurement::end_window() {
    end_ns_ = now_ns();
    loads_ = network_.loads();
}

void Measurement::built(double first_ready_ns) {
    ++n_built_;
    const bool in_window = n_delivered_ > n_begin_ && n_delivered_ <= n_end_;
    if (in_window) latencies_ns_.push_back(now_ns() - first_ready_ns);
}

void Measurement::readout_holds(std::uint32_t n_messages) {
    readout_high_ = std::max(readout_high_, n_messages);
}

void Measurement::builder_holds(std::uint32_t n_meps, std::uint32_t n_messages) {
    builder_meps_high_ = std::max(builder_meps_high_, n_meps);
    builder_messages_high_ = std::max(builder_messages_high_, n_messages);
}

void Measurement::behind(double late_ns) {
    late_ns_ = std::max(late_ns_, late_ns);
}

void Measurement::show_progress() {
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < show_every) return;
    shown_ = now;
    fmt::print("{{\"progress\": {:.4f}}}\n", double(n_delivered_) / double(n_messages_));
    std::fflush(stdout);
}

std::string Measurement::as_json() const {
    const double window_ns = end_ns_ - begin_ns_;
    return fmt::format(
        "{{\"complete\": {}, \"n_messages\": {}, \"n_delivered\": {}, \"n_built\": {}, \"simulated_ns\": {:.3f}, "
        "\"window_ns\": {:.3f}, \"messages_in_window\": {}, \"loads\": {}, \"latency_ns\": {}, "
        "\"readout_high\": {}, \"builder_meps_high\": {}, \"builder_messages_high\": {}, \"behind_ns\": {:.3f}, "
        "\"manager_busy\": {:.6f}}}",
        complete(), n_messages_, n_delivered_, n_built_, now_ns(), window_ns, n_end_ - n_begin_, loads_json(),
        latency_json(), readout_high_, builder_meps_high_, builder_messages_high_, late_ns_,
        manager_busy_ns_ / now_ns());
}

std::string Measurement::loads_json() const {
    constexpr std::array<const char*, 4> names{"out", "in", "up", "down"};
    const double window_ns = end_ns_ - begin_ns_;
    std::string text;
    for (std::size_t kind = 0; kind < loads_.size(); ++kind) {
        const LinkLoad& load = loads_[kind];
        if (load.bytes.empty()) continue;
        const double whole = load.rate * window_ns;
        const double mean = std::accumulate(load.bytes.begin(), load.bytes.end(), 0.0) / double(load.bytes.size());
        const double most = *std::max_element(load.bytes.begin(), load.bytes.end());
        text += fmt::format("{}\"{}\": {{\"mean\": {:.6f}, \"max\": {:.6f}}}", text.empty() ? "" : ", ", names.at(kind),
                            mean / whole, most / whole);
    }
    return "{" + text + "}";
}

std::string Measurement::latency_json() const {
    if (latencies_ns_.empty()) return "null";
    std::vector<double> sorted = latencies_ns_;
    std::sort(sorted.begin(), sorted.end());
    return fmt::format("{{\"p50\": {:.1f}, \"p99\": {:.1f}, \"p999\": {:.1f}, \"max\": {:.1f}}}", quantile(sorted, 0.5),
                       quantile(sorted, 0.99), quantile(sorted, 0.999), sorted.back());
}

}  // namespace anello::plan
