// SPDX-License-Identifier: Apache-2.0
#include "simulate/farm/farm_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/errors.hpp"
#include "core/thread.hpp"
#include "simulate/counted.hpp"
#include "store/mep_writer.hpp"

namespace anello::simulate {
namespace {

exchange::GeneratorConfig source_of(const FarmScenario& scenario, std::uint16_t readout, unsigned lives) {
    const std::uint32_t mean = scenario.fragment_bytes;
    return {.rate_hz = scenario.rate_hz,
            .fragment_mean_bytes = static_cast<double>(mean),
            .fragment_sigma_bytes = static_cast<double>(mean) * scenario.fragment_spread,
            .fragment_min_bytes = 1,
            .fragment_max_bytes = 2 * mean,
            .payload = scenario.carries_fragments ? scenario.payload : exchange::PayloadMode::prepared,
            .when_full = scenario.when_full,
            .seed = scenario.seed + lives,
            .source_id = readout,
            .packing = scenario.packing};
}

exchange::ExchangeConfig exchange_of(const FarmScenario& scenario, Node node, bool comes_again = false) {
    exchange::ExchangeConfig config;
    config.comes_again = comes_again;
    config.farm = exchange::parse_roles(scenario.roles, scenario.n_nodes);
    config.self = node;
    config.protocol = scenario.protocol;
    config.steps_ahead = scenario.steps_ahead;
    config.packing = scenario.packing;
    config.n_meps = scenario.n_meps;
    config.n_credits = scenario.n_credits;
    config.max_mfp_bytes = source_of(scenario, 0, 0).max_mfp_bytes();
    if (scenario.mfp_bytes > 0)
        config.in_flight_bytes = static_cast<std::size_t>(static_cast<double>(config.in_flight_bytes) *
                                                          FarmProcess::mean_mfp_bytes(scenario) / scenario.mfp_bytes);
    config.verify_share = scenario.carries_fragments ? 1 : 0;
    config.timeout_ns = scenario.timeout_ns;
    config.waits_for_data = scenario.waits_for_data;
    config.peer_timeout_ns = scenario.peer_timeout_ns;
    return config;
}

fabric::FabricConfig fabric_of(const FarmScenario& scenario, Node node) {
    constexpr std::size_t room_for_control = 64 << 10;
    fabric::FabricConfig config;
    config.self = node;
    config.n_peers = scenario.n_nodes;
    config.farm_id = scenario.seed;
    config.max_message_bytes = std::max(room_for_control, source_of(scenario, 0, 0).max_mfp_bytes());
    config.max_in_flight = scenario.max_in_flight;
    config.heartbeat_ns = scenario.heartbeat_ns;
    config.peer_timeout_ns = scenario.peer_timeout_ns;
    return config;
}

}  // namespace

double FarmProcess::mean_mfp_bytes(const FarmScenario& scenario) {
    return static_cast<double>(source_of(scenario, 0, 0).mean_mfp_bytes());
}

void FarmProcess::check(const FarmScenario& scenario) {
    source_of(scenario, 0, 0).validate();
    exchange_of(scenario, 0).validate();
    fabric::check(fabric_of(scenario, 0));
    const exchange::Farm farm = exchange::parse_roles(scenario.roles, scenario.n_nodes);
    if (scenario.protocol == exchange::Protocol::shift && scenario.n_buffers <= farm.builders.size())
        throw ConfigError("n_buffers", "must be above the number of builders where protocol is shift",
                          std::to_string(scenario.n_buffers), "A round has one packet for each builder.");
}

FarmProcess::FarmProcess(const FarmScenario& scenario, Node node, unsigned lives, bool comes_again, Network& network,
                         SimulatedDisk& disk, std::function<void()> woken)
    : clock_(network.world()),
      longest_idle_ns_(std::min(longest_idle_ns, scenario.heartbeat_ns / 4)),
      transport_(page_.add_block<fabric::FabricCounter>("fabric")),
      threads_({.n_cores = 1, .wake_ns = scenario.wake_ns, .seed = scenario.seed + node}, network.world()),
      is_judged_(scenario.is_judged),
      made_ns_(clock_.monotonic_ns()),
      silent_ns_(scenario.n_nodes, never_ns),
      is_silent_(scenario.n_nodes) {
    const exchange::ExchangeConfig config = exchange_of(scenario, node, comes_again);
    if (config.is_readout()) {
        const auto source = source_of(scenario, config.farm.readout_of[node], lives);
        ring_ = std::make_unique<exchange::MfpRing>(memory::BuffersConfig{
            .n_buffers = scenario.n_buffers, .buffer_bytes = config.max_mfp_bytes, .kind = memory::Kind::small});
        generator_ = std::make_unique<exchange::Generator>(source, *ring_, clock_, page_);
    }
    if (config.is_builder())
        sink_ = std::make_unique<RecordingSink>(
            RecordingSinkConfig{.packing = scenario.packing,
                                .run_id = config.run_id,
                                .is_fresh = scenario.payload == exchange::PayloadMode::fresh,
                                .is_carried = scenario.carries_fragments,
                                .is_judged = scenario.is_judged,
                                .holds_ns = scenario.sink_holds_ns,
                                .seed = scenario.seed + node},
            clock_, make_file(scenario, config, lives, disk));
    station_ =
        std::make_unique<exchange::Station>(config, memory::Kind::small, ring_.get(), sink_.get(), clock_, page_);
    auto transport = std::make_unique<SimulatedFabric>(fabric_of(scenario, node), station_->listener(), network,
                                                       transport_, std::move(woken));
    fabric_ = transport.get();
    messages_ = std::make_unique<exchange::OwnMessages>(std::move(transport), node, scenario.max_in_flight,
                                                        station_->listener(), network.config().carried_bytes);
    station_->join(*messages_);
    station_->connect(node, station_->life(), messages_->address());
}

std::string FarmProcess::file_name(unsigned lives) {
    return fmt::format("events-life{}.raw", lives);
}

std::unique_ptr<exchange::MepSink> FarmProcess::make_file(const FarmScenario& scenario,
                                                          const exchange::ExchangeConfig& config, unsigned lives,
                                                          SimulatedDisk& disk) {
    if (!scenario.stores || !scenario.carries_fragments) return nullptr;
    auto writer = std::make_unique<store::MepWriter>(
        store::MepWriterConfig{.path = file_name(lives),
                               .n_slots = config.n_credits,
                               .n_readouts = static_cast<std::uint32_t>(config.farm.readouts.size()),
                               .packing = scenario.packing,
                               .run_id = config.run_id,
                               .rules = {.max_bytes = scenario.max_file_bytes, .disk = &disk}},
        page_, "mep_store", threads_);
    file_counters_ = &writer->counters();
    return writer;
}

void FarmProcess::close_file() noexcept {
    if (sink_) sink_->close();
}

std::size_t FarmProcess::step(bool with_source) noexcept {
    const std::size_t n_made = generator_ && with_source ? generator_->do_work() : 0;
    const std::size_t n_done = n_made + station_->do_work();
    is_judged_ ? note_times() : note_most();
    return n_done;
}

void FarmProcess::note_most() noexcept {
    if (ring_) most_mfps_ = std::max(most_mfps_, ring_->n_buffers() - static_cast<std::uint32_t>(ring_->n_free()));
    if (station_->builder() == nullptr) return;
    const std::uint64_t n_used = station_->builder()->counters()[exchange::BuilderCounter::slots_used];
    most_meps_ = std::max(most_meps_, static_cast<std::uint32_t>(n_used));
}

void FarmProcess::note_times() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (is_over()) over_ns_ = std::min(over_ns_, now_ns);
    for (Node node = 0; node < silent_ns_.size(); ++node) {
        const bool is_silent = station_->seen(node) == exchange::NodeState::silent;
        if (is_silent && !is_silent_[node]) silent_ns_[node] = now_ns;
        is_silent_[node] = is_silent;
    }
}

/// Number of MFPs that the readout unit sent to its own node, without the transport.
std::uint64_t FarmProcess::n_own_mfps() noexcept {
    const exchange::ReadoutUnit* const readout = station_->readout();
    if (readout == nullptr || fabric_ == nullptr) return n_own_mfps_;
    const std::uint64_t n_sent = readout->counters()[exchange::ReadoutCounter::mfps_sent];
    const std::uint64_t n_moved = fabric_->moved().n_mfps_done;
    n_own_mfps_ = std::max(n_own_mfps_, n_sent - std::min(n_sent, n_moved));
    return n_own_mfps_;
}

Nanoseconds FarmProcess::next_due_ns(Nanoseconds now_ns) const noexcept {
    if (!messages_->arm()) return now_ns;
    Nanoseconds due_ns = std::min({station_->next_due_ns(), fabric_->next_due_ns(), now_ns + longest_idle_ns_});
    if (generator_) due_ns = std::min(due_ns, generator_->next_due_ns());
    return std::max(due_ns, now_ns);
}

void FarmProcess::exit() noexcept {
    messages_.reset();
    fabric_ = nullptr;
}

void FarmProcess::crash() noexcept {
    has_died_ = true;
    threads_.end_all();
    exit();
}

void FarmProcess::lose_power() noexcept {
    has_died_ = true;
    threads_.end_all();
    fabric_->lose_power();
    exit();
}

void FarmProcess::die_after(std::uint32_t n_packets) {
    constexpr Nanoseconds for_ever = std::numeric_limits<Nanoseconds>::max();
    fabric_->die_after(n_packets, [this] {
        if (sink_) sink_->be_full_until(for_ever);
    });
}

void FarmProcess::abort() noexcept {
    station_->settle();
    close_file();
    is_aborted_ = true;
    exit();
}

std::uint64_t FarmProcess::count(const std::string& block, const std::string& name) const {
    return counted(page_, block, name);
}

}  // namespace anello::simulate
