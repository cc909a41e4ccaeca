// SPDX-License-Identifier: Apache-2.0
#include "km3net/simulate/virtual_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "pipeline/layout.hpp"
#include "simulate/counted.hpp"
#include "simulate/world/stored_columns.hpp"
#include "wire/bytes.hpp"

namespace anello::km3net {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr const char* messages_file = "messages.dat";
constexpr std::uint64_t first_of_run = 17'000'000'010;  // of the world's wall clock
constexpr std::uint64_t n_pool = 3;

SliceTriggerConfig trigger_config(const LineScenario& scenario) {
    SliceTriggerConfig config;
    config.events.road_m = scenario.road_m;
    config.events.min_hits = scenario.min_hits;
    config.events.min_doms = scenario.min_doms;
    config.events.limit = scenario.limit;
    return config;
}

/// The slice of a datagram, as the board wrote it; 0 if it is too short to have one.
std::uint64_t slice_named_in(std::span<const std::byte> datagram) {
    if (datagram.size() < clb::header_bytes) return 0;
    return std::uint64_t{wire::load_be<std::uint32_t>(datagram.data() + 12)} * slices_per_second +
           wire::load_be<std::uint32_t>(datagram.data() + 16) / ticks_per_slice;
}

bool holds(const PlainFrame& frame, std::span<const clb::Hit> hits) {
    std::size_t n = 0;
    for (const auto& [number, bytes] : frame.hits)
        for (std::size_t at = 0; at < bytes.size(); at += clb::hit_bytes, ++n) {
            const clb::Hit hit{static_cast<std::uint8_t>(bytes[at]), wire::load_be<std::uint32_t>(&bytes[at + 1]),
                               static_cast<std::uint8_t>(bytes[at + 5])};
            if (n >= hits.size() || hit != hits[n]) return false;
        }
    return n == hits.size();
}

}  // namespace

VirtualLine::VirtualLine(const LineScenario& scenario)
    : scenario_(scenario),
      host_(scenario.troubles.host, world_),
      board_host_(scenario.troubles.front_ends, world_),
      wire_(scenario.troubles.wire, world_),
      disk_(scenario.troubles.disk, world_, [this](Nanoseconds until_ns) { host_.block_until(until_ns); }),
      headers_(scenario.troubles, first_of_run, wire_) {
    disk_.be_slower(scenario.troubles.disk_slowness);
    wire_.watch([this](std::uint32_t board, std::span<const std::byte> datagram) { see(board, datagram); });
    wire_.watch_reads([this](std::span<const receive::Datagram> datagrams) {
        n_read_ += datagrams.size();
        plain_->read(datagrams, world_.monotonic_ns());
    });
    const NodeConfig config = node_config();
    node_ = std::make_unique<Node>(config, world_, host_);
    plain_ = std::make_unique<PlainSlices>(
        config.build, node_->doms(), [this](const PlainSlice& slice) { take(slice); },
        [this] { return node_->trigger().counters()[TriggerCounter::slices]; });
    trigger_ = std::make_unique<PlainTrigger>(config.decisions.trigger, scenario.long_header, node_->doms());
    messages_ = std::make_unique<PlainMessages>(*trigger_, config.decisions.store.detector);
    const SourceConfig sent = source_config();
    source_ = std::make_unique<Source>(sent, headers_, world_, page_);
    sender_ = board_host_.make({.name = "boards", .longest_wait_ns = [this] { return source_->longest_wait_ns(); }},
                               [this] { return source_->running() ? source_->do_work() : 0; });
    const Simulation sea(sent.simulation, node_->doms());
    for (std::uint64_t i = 0; i < n_pool; ++i) sea_.push_back(sea.slice(i));
}

NodeConfig VirtualLine::node_config() {
    NodeConfig config;
    config.n_slices = scenario_.n_slices;
    config.backend.ports.assign(scenario_.n_doms, 0);
    config.backend.make = [this](const receive::BackendConfig& backend) {
        return wire_.make_backend(backend, [this](int descriptor) { host_.notify(descriptor); });
    };
    config.line = source_config().line;
    config.build.run = scenario_.run;
    config.build.window_slices = scenario_.window_slices;
    config.build.max_lag_slices = scenario_.max_lag_slices;
    config.build.timeout_ns = scenario_.timeout_ns;
    config.build.waits = scenario_.waits;
    config.build.store = {.n_slices = scenario_.n_buffers,
                          .max_hits = scenario_.max_hits,
                          .has_trailers = scenario_.long_header,
                          .watch = [this](SliceStore& slices, std::uint32_t buffer) {
                              plain_->pass_on(slices, buffer, world_.monotonic_ns());
                          }};
    for (std::uint32_t dom = 0; dom < scenario_.n_doms; ++dom)
        config.build.sources.push_back(simulate::SimulatedWire::source_of(dom));
    config.decisions.trigger = trigger_config(scenario_);
    if (scenario_.stores) config.decisions.store.path = messages_file;
    config.decisions.store.rules = {.max_bytes = scenario_.max_file_bytes, .disk = &disk_};
    config.threads = pipeline::parse_layout(scenario_.layout, {}, chain);
    return config;
}

SourceConfig VirtualLine::source_config() const {
    SourceConfig config;
    config.line.n_doms = scenario_.n_doms;
    config.line.spacing_m = scenario_.spacing_m;
    config.line.long_header = scenario_.long_header;
    config.simulation.singles_hz = scenario_.singles_hz;
    config.simulation.k40_hz = scenario_.k40_hz;
    config.simulation.muon_hz = scenario_.muon_hz;
    config.simulation.muon_radius_m = scenario_.muon_radius_m;
    config.simulation.seed = scenario_.troubles.seed;
    config.n_slices = scenario_.n_slices;
    config.first_slice = first_of_run;
    config.pool_slices = n_pool;
    config.hits_per_datagram = scenario_.hits_per_datagram;
    config.faults = scenario_.troubles.faults;
    return config;
}

/// Notes when the last datagram of each board and slice reached the node's buffers.
void VirtualLine::see(std::uint32_t board, std::span<const std::byte> datagram) {
    ++n_came_;
    came_[slice_named_in(datagram)].came_ns[board] = world_.monotonic_ns();
}

void VirtualLine::take(const PlainSlice& slice) {
    SliceRun& run = slices_.emplace_back(came_[slice.number]);
    run.number = slice.number;
    run.passed_on_ns = world_.monotonic_ns();
    for (const PlainFrame& frame : slice.frames) run.is_complete.push_back(frame.is_complete(scenario_.long_header));
    compare_with_sea(slice);
    const auto decision = std::make_shared<const PlainDecision>(trigger_->decide(slice));
    run.n_events = decision->events.size();
    for (std::size_t i = 0; i < decision->events.size(); ++i) awaited_.push_back({decision, i});
    if (scenario_.stores) messages_->add(*decision);
}

/// Boards whose datagrams may say what the PMTs did not see: the format has no check sum.
bool VirtualLine::is_spoilt(std::uint32_t board) const {
    const source::FaultsConfig& faults = scenario_.troubles.faults;
    return faults.corrupt + faults.truncate > 0 || headers_.has_changed(board);
}

/// A complete frame has exactly the hits that the PMTs of its DOM saw in this slice.
void VirtualLine::compare_with_sea(const PlainSlice& slice) {
    for (std::uint32_t dom = 0; dom < scenario_.n_doms; ++dom) {
        const PlainFrame& frame = slice.frames[dom];
        if (is_spoilt(dom) || frame.is_absent() || !frame.is_complete(scenario_.long_header)) continue;
        const bool was_sent = slice.number >= first_of_run && slice.number < first_of_run + scenario_.n_slices;
        const std::uint64_t step = slice.number - first_of_run;
        if (!was_sent || (scenario_.long_header && !holds(frame, sea_[step % n_pool][dom].hits)))
            wrong_.push_back(fmt::format("slice {} has other hits than the PMTs of DOM {} saw", step, dom));
    }
}

/// Takes the events that the trigger offers, which must be those that are awaited.
void VirtualLine::take_events() {
    while (node_->trigger().try_take(*sample_)) {
        if (awaited_.empty()) return wrong_.push_back("an event was found where there is none");
        const Awaited one = awaited_.front();
        awaited_.pop_front();
        trigger_->compare(*sample_, *one.decision, one.decision->events[one.event], wrong_);
    }
}

/// Runs until the node has all slices, or until one second after the last datagram.
void VirtualLine::run() {
    node_->start();
    sender_->start();
    for (int n_after_ms = 0; !node_->finished() && n_after_ms < 1'000; n_after_ms += source_->running() ? 0 : 1) {
        act(scenario_.troubles, host_, wire_, disk_, world_);
        world_.run_until(world_.monotonic_ns() + ms);
        node_->keep_page();
        take_events();
    }
    finished_ = node_->finished();
    n_came_before_end_ = n_came_;
    plain_->begin_end();
    node_->stop();
    end();
}

void VirtualLine::end() {
    for (const Notice& notice : node_->notices())
        if (notice.text.find("draining took") != std::string::npos) return wrong_.push_back(notice.text);
    take_events();
    if (!awaited_.empty()) wrong_.push_back(fmt::format("{} events were not found", awaited_.size()));
    plain_->end(node_->page(), world_.monotonic_ns());
    wrong_.insert(wrong_.end(), plain_->wrong().begin(), plain_->wrong().end());
    trigger_->end(node_->page(), wrong_);
    if (n_read_ < n_came_before_end_)
        wrong_.push_back(fmt::format("{} datagrams came, and {} were read", n_came_before_end_, n_read_));
    if (count("trigger", "l1_not_looked_at") + count("store", "without_room") > 0)
        wrong_.emplace_back("the trigger left something out for lack of memory");
    if (!scenario_.stores) return;
    std::vector<std::byte> content;
    for (const std::string& name : simulate::series(disk_, messages_file))
        std::ranges::copy(disk_.content(name), std::back_inserter(content));
    messages_->judge(content, count("store", "written"), count("store", "lost"), scenario_.troubles.disk_full_ns > 0,
                     wrong_);
}

LineScenario VirtualLine::drawn(std::uint64_t seed) {
    source::Random dice(seed, 0x6b6d33);
    const std::array<std::vector<std::string>, 4> layouts{{{"receive", "trigger", "store"},
                                                           {"receive+trigger", "store"},
                                                           {"receive+trigger+store"},
                                                           {"receive", "trigger+store"}}};
    const auto one_in = [&](std::uint32_t n) { return dice.below(n) == 0; };
    LineScenario scenario;
    simulate::ChainTroubles& troubles = scenario.troubles;
    troubles.seed = troubles.host.seed = troubles.front_ends.seed = troubles.wire.seed = seed;
    scenario.layout = layouts[dice.below(layouts.size())];
    scenario.n_doms = 3 + dice.below(most_doms - 2);
    scenario.n_slices = 3 + dice.below(10);
    scenario.singles_hz = 10 + dice.below(100);
    scenario.k40_hz = 100 + dice.below(400);
    scenario.muon_hz = dice.below(80);
    scenario.spacing_m = one_in(2) ? 9 : 36;
    scenario.road_m = 10 + dice.below(80);
    scenario.hits_per_datagram = 20 + dice.below(100);
    if (one_in(8)) scenario.max_hits = 50 + dice.below(300);
    scenario.long_header = !one_in(6);
    scenario.run = one_in(3) ? 0 : 1;
    scenario.max_lag_slices = dice.below(5);
    scenario.window_slices = scenario.max_lag_slices + 2 + dice.below(6);
    scenario.n_buffers = scenario.window_slices + 2 + dice.below(6);
    scenario.waits = !one_in(4);
    scenario.timeout_ns = (150 + dice.below(700)) * ms;
    scenario.min_doms = 2 + dice.below(2);
    scenario.min_hits = scenario.min_doms + dice.below(2);
    if (one_in(4)) scenario.limit = scenario.min_hits + dice.below(6);
    const simulate::TroubleLimits limits{.n_boards = scenario.n_doms,
                                         .n_steps = static_cast<std::uint32_t>(scenario.n_slices),
                                         .jitter_ms = 0.5,
                                         .begin_ms = 100.0 * static_cast<double>(scenario.n_slices),
                                         .link_ms = 600,
                                         .least_buffer_bytes = 3'000,
                                         .more_buffer_bytes = 20'000,
                                         .has_wrong_headers = true};
    simulate::draw(troubles, limits, dice);
    scenario.stores = one_in(2);
    if (one_in(2)) scenario.max_file_bytes = 5'000 + dice.below(200'000);
    return scenario;
}

const std::vector<simulate::Assignable<LineScenario>>& VirtualLine::assignables() {
    using S = LineScenario;
    static const std::vector<simulate::Assignable<S>> all = simulate::chain_assignables<S>(
        [](const std::vector<std::string>& layout) { pipeline::parse_layout(layout, {}, chain); },
        {
            simulate::number<S>("n_doms", 1, most_doms, &S::n_doms),
            simulate::number<S>("n_slices", 1, 1e6, &S::n_slices),
            simulate::number<S>("singles_hz", 0, 1e6, &S::singles_hz),
            simulate::number<S>("k40_hz", 0, 1e5, &S::k40_hz),
            simulate::number<S>("muon_hz", 0, 1e4, &S::muon_hz),
            simulate::number<S>("muon_radius_m", 0.1, 1'000, &S::muon_radius_m),
            simulate::number<S>("spacing_m", 0.1, 1'000, &S::spacing_m),
            simulate::number<S>("road_m", 0, 1'000, &S::road_m),
            simulate::number<S>("hits_per_datagram", 1, 10'000, &S::hits_per_datagram),
            simulate::number<S>("max_hits", 1, 1e7, &S::max_hits),
            simulate::number<S>("long_header", 0, 1, &S::long_header),
            simulate::number<S>("run", 0, 1, &S::run),
            simulate::number<S>("window_slices", 2, 1'000, &S::window_slices),
            simulate::number<S>("max_lag_slices", 0, 1'000, &S::max_lag_slices),
            simulate::number<S>("n_buffers", 4, 2'000, &S::n_buffers),
            simulate::number<S>("waits", 0, 1, &S::waits),
            simulate::number<S>("timeout_ns", 1e6, 1e15, &S::timeout_ns),
            simulate::number<S>("min_hits", 2, 1'000, &S::min_hits),
            simulate::number<S>("min_doms", 2, 1'000, &S::min_doms),
            simulate::number<S>("limit", 2, 1'000, &S::limit),
            simulate::number<S>("stores", 0, 1, &S::stores),
            simulate::number<S>("max_file_bytes", 0, 1e15, &S::max_file_bytes),
        });
    return all;
}

std::vector<std::string> VirtualLine::lanes() {
    return simulate::lane_names(most_doms, "passed on");
}

std::uint64_t VirtualLine::count(const std::string& block, const std::string& name) const {
    return simulate::counted(node_->page(), block, name);
}

std::uint64_t VirtualLine::n_decided() const {
    return count("trigger", "slices");
}

std::uint64_t VirtualLine::n_found() const {
    return count("trigger", "events");
}

/// The numbers of a board that may send others than its front end lists cannot be compared one by one: its list is
/// marked as incomplete.
simulate::ChainBooks VirtualLine::books() const {
    simulate::ChainBooks books{finished_, node_->page().read(), page_.read(), {}, {}, {}};
    for (std::uint32_t board = 0; board < scenario_.n_doms; ++board) {
        books.made.push_back(source_->sent_log(board));
        if (is_spoilt(board)) books.made.back().made.spoil();
        books.came.emplace_back(0, 0).expected = node_->log(board).seen;
        books.unused.push_back(node_->log(board).unused);
    }
    return books;
}

std::vector<simulate::TraceLine> VirtualLine::trace(std::size_t max_messages) const {
    simulate::ChainTrace trace(scenario_.troubles, most_doms, max_messages);
    for (const SliceRun& slice : slices_) {
        const std::string name = fmt::format("slice {}", static_cast<std::int64_t>(slice.number - first_of_run));
        std::vector<std::uint16_t> absent;
        for (std::uint16_t board = 0; board < slice.is_complete.size(); ++board) {
            if (!slice.is_complete[board]) absent.push_back(board);
            if (slice.came_ns[board] != 0)
                trace.add_message(std::min(slice.came_ns[board], slice.passed_on_ns), slice.passed_on_ns, board, name);
        }
        trace.add_built(slice.passed_on_ns, fmt::format("{}, {} events", name, slice.n_events), absent);
    }
    return trace.lines();
}

std::string describe(const LineScenario& scenario) {
    return fmt::format(
        "{}, {} DOMs {} m apart; {} slices, {} Hz of a PMT, {} muons per second, {} hits in a datagram{}; run {}, "
        "window {}, lag {}, {} buffers of {} hits{}, timeout {} ms; events of {} L1 of {} DOMs, limit {}{}",
        fmt::join(scenario.layout, " | "), scenario.n_doms, scenario.spacing_m, scenario.n_slices, scenario.singles_hz,
        scenario.muon_hz, scenario.hits_per_datagram, scenario.long_header ? "" : ", without trailers", scenario.run,
        scenario.window_slices, scenario.max_lag_slices, scenario.n_buffers, scenario.max_hits,
        scenario.waits ? "" : ", or dropped", scenario.timeout_ns / ms, scenario.min_hits, scenario.min_doms,
        scenario.limit, scenario.stores ? fmt::format("; stored in files of {} bytes", scenario.max_file_bytes) : "");
}

std::vector<std::string> judge(const VirtualLine& line, const LineScenario& scenario) {
    std::vector<std::string> findings = line.wrong();
    if (line.events().empty()) findings.emplace_back("nothing came");
    if (!told(scenario.troubles).empty() || scenario.max_hits < LineScenario{}.max_hits) return findings;
    if (line.events().size() != scenario.n_slices)
        findings.push_back(fmt::format("{} slices of {} were passed on", line.events().size(), scenario.n_slices));
    for (const VirtualLine::SliceRun& slice : line.events())
        if (std::ranges::count(slice.is_complete, false) > 0)
            findings.push_back(
                fmt::format("slice {} is incomplete, and nothing happened", slice.number - first_of_run));
    return findings;
}

}  // namespace anello::km3net
