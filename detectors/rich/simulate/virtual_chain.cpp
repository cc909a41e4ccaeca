// SPDX-License-Identifier: Apache-2.0
#include "rich/simulate/virtual_chain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <ranges>

#include "pipeline/layout.hpp"
#include "rich/chain/unpackers.hpp"
#include "simulate/counted.hpp"
#include "simulate/world/stored_columns.hpp"

namespace anello::rich {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr const char* decisions_file = "decisions.h5";

const EventSample& sample() {
    static const EventSample events = RichSimulation(RichSimulationConfig{}).simulate(200);
    return events;
}

}  // namespace

/// Reads the primitives that the chain sends.
class VirtualChain::Sink final : public DatagramSink, private PrimitiveObserver {
  public:
    explicit Sink(VirtualChain& chain)
        : chain_(chain), checker_(wire::KnownSources(EmitterConfig{}.source_id, 1), chain.page_, "far", this) {}
    SendResult send(std::span<const std::span<const std::byte>> datagrams) noexcept override {
        for (const auto& datagram : datagrams) checker_.check(datagram);
        return {datagrams.size(), 0};
    }

  private:
    void on_primitive(std::uint32_t burst, const wire::mtp::Primitive& primitive) noexcept override {
        chain_.decisions_.resize(std::max<std::size_t>(chain_.decisions_.size(), burst + 1));
        chain_.decisions_[burst].push_back({primitive.timestamp_ticks, primitive.id, chain_.world_.monotonic_ns()});
    }

    VirtualChain& chain_;
    PrimitiveChecker checker_;
};

VirtualChain::VirtualChain(const VirtualScenario& scenario)
    : scenario_(scenario),
      host_(scenario.troubles.host, world_),
      front_end_host_(scenario.troubles.front_ends, world_),
      wire_(scenario.troubles.wire, world_),
      disk_(scenario.troubles.disk, world_, [this](Nanoseconds until_ns) { host_.block_until(until_ns); }) {
    disk_.be_slower(scenario.troubles.disk_slowness);
    static const EventPool pool(sample(), Format::mgp, true);
    wire_.watch([this](std::uint32_t board, std::span<const std::byte> datagram) { see(board, datagram); });
    node_ = std::make_unique<Node>(node_config(), world_, host_);
    source_ = std::make_unique<RichSource>(source_config(), pool, wire_, world_, page_);
    sender_ =
        front_end_host_.make({.name = "front ends", .longest_wait_ns = [this] { return source_->longest_wait_ns(); }},
                             [this] { return source_->running() ? source_->do_work() : 0; });
}

NodeConfig VirtualChain::node_config() {
    NodeConfig config;
    config.n_bursts = scenario_.n_bursts;
    config.intake.backend.ports.assign(n_boards, 0);
    config.intake.backend.make = [this](const receive::BackendConfig& backend) {
        return wire_.make_backend(backend, [this](int descriptor) { host_.notify(descriptor); });
    };
    config.intake.n_lanes = scenario_.n_lanes;
    for (std::uint16_t board = 0; board < n_boards; ++board) config.intake.unpackers.push_back(mgp_board(board, board));
    config.intake.shape = {.max_fragments = 512, .max_hits = 8192, .max_packets = 512};
    config.intake.n_buffers = 64;
    config.build.batch = {.max_events = 128, .max_hits = 128 * 64};
    config.build.timeout_ns = scenario_.timeout_ns;
    config.trigger.primitive_by_rings = {0x110, 0x101, 0x102, 0x104, 0x108};
    config.n_trigger_threads = scenario_.n_trigger_threads;
    if (scenario_.stores) config.store.decisions_file = decisions_file;
    config.store.chunk_events = scenario_.chunk_events;
    config.store.rules = {.max_bytes = scenario_.max_file_bytes, .disk = &disk_};
    config.make_emit_sink = [this] { return std::make_unique<Sink>(*this); };
    config.threads = pipeline::parse_layout(scenario_.layout, {}, rich_chain);
    return config;
}

RichSourceConfig VirtualChain::source_config() const {
    RichSourceConfig config;
    config.seed = scenario_.troubles.seed;
    config.rate_hz = scenario_.rate_hz;
    config.burst_ms = scenario_.burst_ms;
    config.gap_ms = scenario_.gap_ms;
    config.n_bursts = scenario_.n_bursts;
    config.faults = scenario_.troubles.faults;
    return config;
}

/// Notes the events of a datagram that reached the node's buffers.
void VirtualChain::see(std::uint32_t board, std::span<const std::byte> datagram) {
    wire::mgp::PacketView packet;
    if (wire::mgp::parse(datagram, packet) != wire::Verdict::ok || packet.header.is_burst_marker()) return;
    wire::mgp::EventReader reader(packet);
    for (wire::mgp::EventView event{}; reader.next(event);) {
        const std::uint64_t key = std::uint64_t{packet.header.burst_id} << 32 | event.timestamp_ticks;
        Event& came = events_[key];
        if (came.came_ns[board] != 0) continue;  // a duplicate
        came.came_ns[board] = world_.monotonic_ns();
        came.is_overtaken |= key < last_key_[board];
        last_key_[board] = std::max(last_key_[board], key);
    }
}

/// Runs until the node has all bursts, or until one second after the last packet.
void VirtualChain::run() {
    node_->start();
    sender_->start();
    for (Nanoseconds n_after_ms = 0; !node_->finished() && n_after_ms < 1'000;
         n_after_ms += source_->running() ? 0 : 1) {
        act(scenario_.troubles, host_, wire_, disk_, world_);
        world_.run_until(world_.monotonic_ns() + ms);
        node_->keep_page();
    }
    finished_ = node_->finished();
    node_->stop();
    match_decisions();
    for (Notice& notice : node_->notices()) notices_.push_back(std::move(notice.text));
}

/// Packets of primitives do not have the burst's number, and a burst of which almost nothing arrived has none. So this
/// assigns them to the next burst in which at least half of these times arrived.
void VirtualChain::match_decisions() {
    std::uint64_t burst = 0;
    for (const std::vector<Decision>& decisions : decisions_) {
        const auto most_came_in = [&](std::uint64_t number) {
            const auto came = [&](const Decision& one) { return events_.contains(number << 32 | one.timestamp_ticks); };
            return 2 * static_cast<std::size_t>(std::ranges::count_if(decisions, came)) >= decisions.size();
        };
        while (burst + 1 < scenario_.n_bursts && !most_came_in(burst)) ++burst;
        for (const Decision& one : decisions) {
            Event& event = events_[burst << 32 | one.timestamp_ticks];
            event.decided_ns = one.at_ns;
            event.primitive_id = one.primitive_id;
            ++event.n_decisions;
        }
        ++burst;
    }
}

VirtualScenario VirtualChain::drawn(std::uint64_t seed) {
    source::Random dice(seed, 0x72696368);
    const auto one_in = [&](std::uint32_t n) { return dice.below(n) == 0; };
    const std::array<std::vector<std::string>, 5> layouts{{{"receive+build+trigger+emit", "store"},
                                                           {"receive", "build+trigger+emit", "store"},
                                                           {"receive", "build", "trigger", "emit", "store"},
                                                           {"receive+build", "trigger+emit+store"},
                                                           {"receive+build", "trigger", "emit", "store"}}};
    VirtualScenario scenario;
    simulate::ChainTroubles& troubles = scenario.troubles;
    troubles.seed = troubles.host.seed = troubles.front_ends.seed = troubles.wire.seed = seed;
    scenario.layout = layouts[dice.below(layouts.size())];
    scenario.n_trigger_threads = 1 + dice.below(3);
    scenario.n_lanes = one_in(3) ? 1 + dice.below(4) : 1;
    scenario.rate_hz = 2'000 * (1 + dice.below(80));
    scenario.burst_ms = 2 + dice.below(12);
    scenario.gap_ms = dice.below(20);
    scenario.n_bursts = 1 + dice.below(3);
    scenario.timeout_ns = (4 + dice.below(40)) * ms;
    simulate::draw(troubles, {.n_boards = n_boards, .n_steps = 3}, dice);
    scenario.stores = one_in(3);
    scenario.chunk_events = 20 + dice.below(one_in(2) ? 100 : 5'000);  // runs are too short to fill a usual chunk
    if (one_in(2)) scenario.max_file_bytes = 20'000 + dice.below(2'000'000);
    return scenario;
}

const std::vector<simulate::Assignable<VirtualScenario>>& VirtualChain::assignables() {
    using S = VirtualScenario;
    static const std::vector<simulate::Assignable<S>> all = [] {
        std::vector<simulate::Assignable<S>> own{
            {"layout",
             [](S& scenario, std::string_view, std::string_view text) {
                 scenario.layout = simulate::parts_of(text);
                 pipeline::parse_layout(scenario.layout, {}, rich_chain);
             }},
            simulate::number<S>("n_trigger_threads", 1, 64, &S::n_trigger_threads),
            simulate::number<S>("n_lanes", 1, n_boards, &S::n_lanes),
            simulate::number<S>("rate_hz", 1, 1e8, &S::rate_hz),
            simulate::number<S>("burst_ms", 0.1, 1e4, &S::burst_ms),
            simulate::number<S>("gap_ms", 0, 1e4, &S::gap_ms),
            simulate::number<S>("n_bursts", 1, 1e4, &S::n_bursts),
            simulate::number<S>("timeout_ns", 1e5, 1e12, &S::timeout_ns),
            simulate::number<S>("stores", 0, 1, &S::stores),
            simulate::number<S>("max_file_bytes", 0, 1e15, &S::max_file_bytes),
            simulate::number<S>("chunk_events", 1, 1e6, &S::chunk_events),
        };
        std::ranges::move(simulate::assignables(&S::troubles), std::back_inserter(own));
        return own;
    }();
    return all;
}

std::vector<std::string> VirtualChain::lanes() {
    std::vector<std::string> names;
    for (std::uint32_t board = 0; board < n_boards; ++board) names.push_back(fmt::format("board {}", board));
    names.emplace_back("decided");
    return names;
}

std::uint64_t VirtualChain::n_lost_for_file() const {
    return simulate::counted(node_->page(), "store", "events_lost");
}

simulate::ChainBooks VirtualChain::books() const {
    simulate::ChainBooks books{finished_, node_->page().read(), page_.read(), {}, {}};
    for (std::size_t board = 0; board < n_boards; ++board) books.made.push_back(source_->sent_log(board));
    node_->for_each_sequence_log([&](std::uint32_t, const receive::SequenceLog& log) { books.came.push_back(log); });
    return books;
}

std::uint64_t VirtualChain::n_decided() const noexcept {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(events_, [](const auto& one) { return one.second.n_decisions > 0; }));
}

std::vector<simulate::TraceLine> VirtualChain::trace(std::size_t max_messages) const {
    simulate::ChainTrace trace(scenario_.troubles, n_boards, max_messages);
    for (const auto& [key, event] : events_) {
        const std::string name = fmt::format("event {} of burst {}", key & 0xffffffff, key >> 32);
        std::vector<std::uint16_t> absent;
        for (std::uint16_t board = 0; board < n_boards; ++board)
            if (event.came_ns[board] == 0)
                absent.push_back(board);
            else if (event.n_decisions > 0)
                trace.add_message(event.came_ns[board], event.decided_ns, board, name);
        if (event.n_decisions > 0)
            trace.add_built(event.decided_ns, fmt::format("{} is {:#x}", name, event.primitive_id), absent);
    }
    return trace.lines();
}

std::string describe(const VirtualScenario& scenario) {
    return fmt::format("{}, {} trigger threads, {} lanes; {} bursts of {} ms at {} Hz, gap {} ms; timeout {} ms{}",
                       fmt::join(scenario.layout, " | "), scenario.n_trigger_threads, scenario.n_lanes,
                       scenario.n_bursts, scenario.burst_ms, scenario.rate_hz, scenario.gap_ms,
                       scenario.timeout_ns / ms,
                       scenario.stores ? fmt::format("; stored in files of {} bytes", scenario.max_file_bytes) : "");
}

namespace {

/// Tracks, event by event, since when the merger waits for each board, until its next fragment arrives.
class Waits {
  public:
    /// True when a fragment of this event arrived more than most_ns after the waiting for its board began.
    bool is_late(const VirtualChain::Event& event, Nanoseconds most_ns) {
        bool is_late = false;
        for (std::uint32_t board = 0; board < n_boards; ++board) {
            if (since_ns_[board] == 0) since_ns_[board] = event.first_came_ns();
            const Nanoseconds came_ns = event.came_ns[board];
            if (came_ns == 0) continue;
            is_late |= came_ns - since_ns_[board] > most_ns;
            since_ns_[board] = 0;
        }
        return is_late;
    }

  private:
    std::array<Nanoseconds, n_boards> since_ns_{};
};

/// Last event of each board in each burst.
class Bursts {
  public:
    Bursts(const std::map<std::uint64_t, VirtualChain::Event>& events, Nanoseconds timeout_ns)
        : far_ticks_(static_cast<std::uint64_t>(static_cast<double>(timeout_ns) / tick_ns)) {
        for (const auto& [key, event] : events)
            for (std::uint32_t board = 0; board < n_boards; ++board)
                if (event.came_ns[board] != 0) last_keys_[key >> 32][board] = key;
    }
    /// Call it for events in order. True when fewer than half of the boards support this event: they cannot begin a
    /// burst, nor move time by more than the time-out at once.
    bool is_ahead(std::uint64_t key) {
        const auto has_come = [&](std::uint64_t last) { return last != 0 && last + far_ticks_ >= key; };
        const bool is_near = key >> 32 == believed_ >> 32 && key - believed_ <= far_ticks_;
        if (!is_near && 2 * std::ranges::count_if(last_keys_[key >> 32], has_come) < n_boards) return true;
        believed_ = key;
        return false;
    }
    /// True at the begin of a burst when a board is not waited for, because it sent nothing in the burst before.
    bool lacks(std::uint64_t key, bool may_come_late) const {
        constexpr std::uint64_t first_ticks = 40'000;  // 1 ms
        const std::uint64_t burst = key >> 32;
        const bool is_first = (key & 0xffffffff) < first_ticks && burst > 0;
        return is_first && (may_come_late || !last_keys_.contains(burst - 1) ||
                            std::ranges::count(last_keys_.at(burst - 1), 0U) > 0);
    }

  private:
    const std::uint64_t far_ticks_;
    std::map<std::uint64_t, std::array<std::uint64_t, n_boards>> last_keys_;  ///< by burst and board; 0: no event
    std::uint64_t believed_ = ~std::uint64_t{0};                              ///< a key of no burst
};

/// Primitive ids of the pool's events in a run without faults.
const std::map<std::uint32_t, std::uint16_t>& ids_of_pool() {
    static const std::map<std::uint32_t, std::uint16_t> ids = [] {
        VirtualChain calm(VirtualScenario{});
        calm.run();
        std::map<std::uint32_t, std::uint16_t> found;
        for (const source::TruthSample& sent : calm.sent())
            found[sent.pool_index] = calm.events().at(sent.event_key).primitive_id;
        return found;
    }();
    return ids;
}

}  // namespace

namespace {

/// Times at which each event of a file was sent and passed through the chain.
class StoredTimes {
  public:
    /// longest_on_way_ns: longest time from the front end to the node.
    StoredTimes(const simulate::StoredColumns& file, Nanoseconds longest_on_way_ns)
        : longest_on_way_ns_(longest_on_way_ns), flags_(file.numbers("flags")) {
        for (const char* name : {"sent_ns", "kernel_ns", "placed_ns", "built_ns", "decided_ns"})
            times_ns_.push_back(file.numbers(name));
    }
    /// Checks the times: the event was sent before it arrived; it was received with one of its fragments, if complete
    /// with the last one; then it was placed, built and decided.
    bool are_of(std::size_t row, const VirtualChain::Event& event) const {
        const auto has_row = [&](const auto& column) { return row < column.size(); };
        if (!has_row(flags_) || !std::ranges::all_of(times_ns_, has_row)) return false;
        const auto at_ns = [&](const auto& column) { return static_cast<Nanoseconds>(column[row]); };
        const Nanoseconds sent_ns = at_ns(times_ns_[0]), kernel_ns = at_ns(times_ns_[1]);
        const Nanoseconds came_ns = kernel_ns - simulate::World::wall_offset_ns;
        const bool was_sent = sent_ns == 0 || (sent_ns <= kernel_ns && kernel_ns - sent_ns < longest_on_way_ns_);
        const bool has_come = std::ranges::count(event.came_ns, came_ns) > 0;
        const bool lacks_none = (flags_[row] & events::EventFlag::incomplete) == 0;
        const bool has_all = !lacks_none || (event.is_whole() && came_ns == event.last_came_ns());
        return was_sent && has_come && has_all && std::ranges::is_sorted(times_ns_ | std::views::drop(1), {}, at_ns);
    }

  private:
    const Nanoseconds longest_on_way_ns_;
    std::vector<std::uint64_t> flags_;
    std::vector<std::vector<std::uint64_t>> times_ns_;
};

/// Checks the files: they have the decided events, each once, with their own rings and correct times. A full disk
/// refused the events that are missing, and they were counted.
class FileJudge {
  public:
    FileJudge(const VirtualChain& chain, const VirtualScenario& scenario, std::vector<std::string>& findings)
        : chain_(chain), longest_on_way_ns_(900 * ms + scenario.troubles.hold_ns), findings_(findings) {}

    void judge(bool was_full) {
        for (const std::string& name : simulate::series(chain_.disk(), decisions_file)) read(name);
        for (const auto& [key, event] : chain_.events()) {
            const std::uint32_t n_stored = n_stored_.contains(key) ? n_stored_.at(key) : 0;
            if (n_stored > event.n_decisions || (n_stored < event.n_decisions && !was_full))
                findings_.push_back(fmt::format("event {} of burst {} was decided {} times, and stored {} times",
                                                key & 0xffffffff, key >> 32, event.n_decisions, n_stored));
        }
        if (n_rows_ + chain_.n_lost_for_file() != chain_.n_decided())
            findings_.push_back(fmt::format("{} events were decided, {} are in files, and {} were lost for them",
                                            chain_.n_decided(), n_rows_, chain_.n_lost_for_file()));
        if (chain_.n_lost_for_file() > 0 && !was_full) findings_.emplace_back("events were lost on a disk with room");
    }

  private:
    void read(const std::string& name) {
        const simulate::StoredColumns file(chain_.disk(), name);
        if (!file.opens()) return findings_.push_back(name + " does not open");
        const auto keys = file.numbers("event_key"), ids = file.numbers("primitive_id");
        const auto offsets = file.numbers("ring_offset"), n_rings = file.numbers("n_rings");
        if (keys.size() != ids.size() || keys.size() != offsets.size() || keys.size() != n_rings.size())
            return findings_.push_back(name + " has columns of several lengths");
        const StoredTimes times(file, longest_on_way_ns_);
        std::uint64_t n_before = 0;
        for (std::size_t row = 0; row < keys.size(); ++row) {
            const auto event = chain_.events().find(keys[row]);
            if (event == chain_.events().end() || event->second.primitive_id != ids[row])
                findings_.push_back(fmt::format("{} has another event than was decided in row {}", name, row));
            if (offsets[row] != n_before)
                findings_.push_back(fmt::format("{} has the rings of row {} in a wrong place", name, row));
            n_before += n_rings[row];
            ++n_stored_[keys[row]];
            if (event != chain_.events().end() && !times.are_of(row, event->second))
                findings_.push_back(fmt::format("{} has the event in row {} at times when it was not", name, row));
        }
        if (file.numbers("ring_n_hits").size() != n_before) findings_.push_back(name + " has rings of no event");
        n_rows_ += keys.size();
    }

    const VirtualChain& chain_;
    const Nanoseconds longest_on_way_ns_;
    std::vector<std::string>& findings_;
    std::map<std::uint64_t, std::uint32_t> n_stored_;
    std::uint64_t n_rows_ = 0;
};

}  // namespace

std::vector<std::string> judge(const VirtualChain& chain, const VirtualScenario& scenario) {
    std::vector<std::string> findings;
    for (const std::string& notice : chain.notices())
        if (notice.find("draining took") != std::string::npos) findings.push_back(notice);
    std::map<std::uint64_t, std::uint32_t> pool_index_of;
    for (const source::TruthSample& sent : chain.sent()) pool_index_of[sent.event_key] = sent.pool_index;
    Bursts bursts(chain.events(), scenario.timeout_ns);
    Waits waits;
    for (const auto& [key, event] : chain.events()) {
        const std::string name = fmt::format("event {} of burst {}", key & 0xffffffff, key >> 32);
        if (event.n_decisions > 1) findings.push_back(fmt::format("{} was decided {} times", name, event.n_decisions));
        if (event.first_came_ns() == 0) findings.push_back(name + " was decided, and never came");
        if (!pool_index_of.contains(key)) {
            findings.push_back(name + " was never sent");
            continue;
        }
        const bool is_late = waits.is_late(event, scenario.timeout_ns / 2), is_ahead = bursts.is_ahead(key);
        if (is_late || is_ahead || event.is_overtaken || scenario.is_disturbed(event.first_came_ns())) continue;
        if (bursts.lacks(key, scenario.troubles.is_link_disturbed())) continue;
        if (event.n_decisions == 0) findings.push_back(name + " came, and was not decided");
        const std::uint16_t expected = ids_of_pool().at(pool_index_of.at(key));
        if (event.is_whole() && event.n_decisions == 1 && event.primitive_id != expected)
            findings.push_back(
                fmt::format("{} is {:#x}, and all of it came in time: {:#x}", name, event.primitive_id, expected));
    }
    if (scenario.stores) FileJudge(chain, scenario, findings).judge(scenario.troubles.disk_full_ns > 0);
    return findings;
}

}  // namespace anello::rich
