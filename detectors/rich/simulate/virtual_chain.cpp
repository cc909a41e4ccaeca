// SPDX-License-Identifier: Apache-2.0
#include "rich/simulate/virtual_chain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pipeline/layout.hpp"
#include "receive/numbers/packet_contents.hpp"
#include "rich/chain/unpackers.hpp"
#include "simulate/counted.hpp"

namespace anello::rich {
namespace {

constexpr Nanoseconds ms = 1'000'000;
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
      boards_(scenario.troubles.boards, wire_, world_),
      disk_(scenario.troubles.disk, world_, [this](Nanoseconds until_ns) { host_.block_until(until_ns); }) {
    disk_.be_slower(scenario.troubles.disk_slowness);
    static const EventPool pool(sample(), Format::mgp, true);
    wire_.watch([this](std::uint32_t board, std::span<const std::byte> datagram) { see(board, datagram); });
    node_ = std::make_unique<Node>(node_config(), world_, host_);
    source_ = std::make_unique<RichSource>(source_config(), pool, boards_, world_, page_);
    sender_ =
        front_end_host_.make({.name = "front ends", .longest_wait_ns = [this] { return source_->longest_wait_ns(); }},
                             [this] { return source_->running() ? source_->do_work() : 0; });
}

NodeConfig VirtualChain::node_config() {
    NodeConfig config;
    const simulate::BoardChanges& changes = scenario_.troubles.boards;
    const bool has_one_more = changes.n_rebooting > 0 && changes.restarts_steps;  // the rest of a burst is burst 0
    config.n_bursts = scenario_.n_bursts + (has_one_more ? 1 : 0);
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
    config.trigger.primitive_by_rings = {0x110, 0x101, 0x102, 0x104, 0x108,
                                         0x108, 0x108, 0x108, 0x108};  // wrong times make events of many rings
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
    config.first_burst_id = ChangedRichBoards::first_burst_id(scenario_.troubles.boards);
    return config;
}

/// Notes the events of a datagram that reached the node's buffers, if its number is to be used.
void VirtualChain::see(std::uint32_t board, std::span<const std::byte> datagram) {
    ++packets_[board].n_datagrams;
    wire::mgp::PacketView packet;
    if (wire::mgp::parse(datagram, packet) != wire::Verdict::ok) return;
    if (packet.header.is_burst_marker()) return see_marker(board, packet, datagram);
    if (!packets_[board].take(packet.header.sequence, receive::PacketContents::of(datagram))) return;
    const ChangedRichBoards::Change change = boards_.change_of(board, datagram);
    if (std::ranges::find(bursts_, packet.header.burst_id) == bursts_.end()) bursts_.push_back(packet.header.burst_id);
    wire::mgp::EventReader reader(packet);
    for (wire::mgp::EventView event{}; reader.next(event);)
        see_event(board, std::uint64_t{packet.header.burst_id} << 32 | event.timestamp_ticks, change);
}

/// A marker that counts from zero shows a begin; its time of sending is not that of earlier packets.
void VirtualChain::see_marker(std::uint32_t board, const wire::mgp::PacketView& packet,
                              std::span<const std::byte> datagram) {
    const bool from_zero = packet.header.sequence == 0 && wire::mgp::parse_totals(packet).n_packets == 0;
    packets_[board].take_marker(packet.header.sequence, from_zero && boards_.change_of(board, datagram).is_anew);
}

void VirtualChain::see_event(std::uint32_t board, std::uint64_t key, const ChangedRichBoards::Change& change) {
    const std::uint64_t made_key = key + (change.step_shift << 32) + change.time_shift;
    Event& came = events_[key];
    if (came.came_ns[board] != 0) return void(++came.n_again);
    came.came_ns[board] = world_.monotonic_ns();
    came.anew[board] = change.is_anew;
    came.wrong[board] = change.is_clock_wrong;
    if (change.is_clock_wrong) return;
    came.is_mixed |= came.made_key != 0 && came.made_key != made_key;
    came.made_key = made_key;
    came.is_overtaken |= made_key < last_key_[board];
    last_key_[board] = std::max(last_key_[board], made_key);
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
    note_missing();
    match_decisions();
    for (Notice& notice : node_->notices()) notices_.push_back(std::move(notice.text));
}

void VirtualChain::note_missing() {
    node_->for_each_sequence_log([&](std::uint32_t board, const receive::SequenceLog& log) {
        for (const RangeLog::Range& range : log.missing.ranges()) n_missing_[board] += range.end - range.begin;
    });
}

/// Packets of primitives do not have the burst's number, and a burst of which almost nothing arrived has none. So this
/// assigns them to the burst, of those without decisions, in which most of these times arrived, of most boards: boards
/// that begin anew may send the same times in a burst of another number.
void VirtualChain::match_decisions() {
    std::vector<std::uint32_t> bursts = bursts_;
    for (const std::vector<Decision>& decisions : decisions_) {
        if (decisions.empty()) continue;
        const std::optional<std::uint32_t> next = burst_of(decisions, bursts), any = burst_of(decisions, bursts_);
        if (next) std::erase(bursts, *next);
        match(decisions, next ? *next : any ? *any : bursts_.empty() ? 0 : bursts_.back());
    }
}

std::optional<std::uint32_t> VirtualChain::burst_of(const std::vector<Decision>& decisions,
                                                    const std::vector<std::uint32_t>& bursts) const {
    std::optional<std::uint32_t> best;
    std::pair<std::size_t, std::size_t> most{(decisions.size() - 1) / 2, ~std::size_t{0}};  // at least half
    for (const std::uint32_t burst : bursts) {
        std::pair<std::size_t, std::size_t> support{};  // times that arrived, and fragments with them
        for (const Decision& one : decisions) {
            const auto event = events_.find(std::uint64_t{burst} << 32 | one.timestamp_ticks);
            if (event == events_.end()) continue;
            const auto n_absent = static_cast<std::size_t>(std::ranges::count(event->second.came_ns, 0));
            support.first += n_absent < n_boards ? 1 : 0;
            support.second += n_boards - n_absent;
        }
        if (support <= most) continue;
        most = support;
        best = burst;
    }
    return best;
}

void VirtualChain::match(const std::vector<Decision>& decisions, std::uint32_t burst) {
    for (const Decision& one : decisions) {
        Event& event = events_[std::uint64_t{burst} << 32 | one.timestamp_ticks];
        event.decided_ns = one.at_ns;
        event.primitive_id = one.primitive_id;
        ++event.n_decisions;
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
    simulate::draw(troubles.boards, n_boards, 40, seed);
    if (2 * troubles.boards.n_rebooting == n_boards)
        troubles.boards.restarts_steps = false;  // then each half of the boards could lead the others
    scenario.stores = one_in(3);
    scenario.chunk_events = 20 + dice.below(one_in(2) ? 100 : 5'000);  // runs are too short to fill a usual chunk
    if (one_in(2)) scenario.max_file_bytes = 20'000 + dice.below(2'000'000);
    return scenario;
}

const std::vector<simulate::Assignable<VirtualScenario>>& VirtualChain::assignables() {
    using S = VirtualScenario;
    static const std::vector<simulate::Assignable<S>> all = simulate::chain_assignables<S>(
        [](const std::vector<std::string>& layout) { pipeline::parse_layout(layout, {}, rich_chain); },
        {
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
        });
    return all;
}

std::vector<std::string> VirtualChain::lanes() {
    return simulate::lane_names(n_boards, "decided");
}

std::uint64_t VirtualChain::count(const std::string& block, const std::string& name) const {
    return simulate::counted(node_->page(), block, name);
}

/// The counters and lists of the front ends do not know of changes on the way, so that no ledger can be made of a chain
/// whose boards have begun anew or count from another number.
simulate::ChainBooks VirtualChain::books() const {
    const simulate::BoardChanges& changes = scenario_.troubles.boards;
    const bool has_books = finished_ && changes.n_rebooting + changes.wraps_after == 0;
    simulate::ChainBooks books{has_books, node_->page().read(), page_.read(), {}, {}};
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

}  // namespace anello::rich
