// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>
#include <ranges>
#include <set>
#include <utility>

#include "rich/simulate/virtual_chain.hpp"
#include "simulate/world/stored_columns.hpp"

namespace anello::rich {
namespace {

constexpr std::uint64_t builder_window_ticks = 1;  // of the builder, as it is configured by default

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
        const bool was_sent =
            sent_ns == 0 || event.is_changed() || (sent_ns <= kernel_ns && kernel_ns - sent_ns < longest_on_way_ns_);
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
        : chain_(chain),
          longest_on_way_ns_(900'000'000 + scenario.troubles.hold_ns),
          n_late_(chain.count("emit", "primitives_late")),
          findings_(findings) {}

    void judge(bool was_full) {
        for (const std::string& name : simulate::series(chain_.disk(), VirtualChain::decisions_file)) read(name);
        for (const auto& [key, event] : chain_.events()) {
            const std::uint32_t n_stored = n_stored_.contains(key) ? n_stored_.at(key) : 0;
            if (n_stored > most_rows(event) || (n_stored < event.n_decisions && !was_full))
                findings_.push_back(fmt::format("event {} of burst {} was decided {} times, and stored {} times",
                                                key & 0xffffffff, key >> 32, event.n_decisions, n_stored));
        }
        std::uint64_t n_decisions = n_late_;
        for (const auto& [key, event] : chain_.events()) n_decisions += event.n_decisions;
        if (n_rows_ + chain_.n_lost_for_file() != n_decisions)
            findings_.push_back(fmt::format("{} events were decided, {} are in files, and {} were lost for them",
                                            n_decisions, n_rows_, chain_.n_lost_for_file()));
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
            const bool is_known = event != chain_.events().end();
            const bool is_one = is_known && event->second.n_again == 0 && event->second.n_decisions > 0;
            if (!is_known || (is_one && event->second.primitive_id != ids[row]))
                findings_.push_back(fmt::format("{} has another event than was decided in row {}", name, row));
            if (offsets[row] != n_before)
                findings_.push_back(fmt::format("{} has the rings of row {} in a wrong place", name, row));
            n_before += n_rings[row];
            ++n_stored_[keys[row]];
            if (is_one && is_alone(keys[row]) && !times.are_of(row, event->second))
                findings_.push_back(fmt::format("{} has the event in row {} at times when it was not", name, row));
        }
        if (file.numbers("ring_n_hits").size() != n_before) findings_.push_back(name + " has rings of no event");
        n_rows_ += keys.size();
    }

    /// The node sends no primitive of an event that a wrong clock sets before what it has sent; it stores the decision.
    std::uint32_t most_rows(const VirtualChain::Event& event) const {
        return event.n_decisions == 0 && n_late_ > 0 ? 1 + event.n_again : event.n_decisions;
    }
    /// True if no fragments with changed times lie within the window of this event, so that they may be in it.
    bool is_alone(std::uint64_t key) const {
        const auto next = std::next(chain_.events().lower_bound(key));
        return next == chain_.events().end() || next->first - key > builder_window_ticks;
    }

    const VirtualChain& chain_;
    const Nanoseconds longest_on_way_ns_;
    const std::uint64_t n_late_;  ///< primitives that were not sent
    std::vector<std::string>& findings_;
    std::map<std::uint64_t, std::uint32_t> n_stored_;
    std::uint64_t n_rows_ = 0;
};

/// What the rules promise of an event that boards sent which begin anew, or whose clock is wrong, or that was sent
/// after such a change.
class ChangeRules {
  public:
    ChangeRules(const VirtualChain& chain, const VirtualScenario& scenario)
        : changes_(scenario.troubles.boards),
          events_(chain.events()),
          loses_packets_(loses_packets(scenario.troubles)) {
        for (const auto& [key, event] : chain.events()) {
            if (event.is_changed()) changed_bursts_.insert(event.made_key >> 32);
            if (event.anew.any() && event.made_key != 0) rebooted_bursts_.insert(event.made_key >> 32);
            if (event.wrong.any()) has_wrong_time_.insert(key >> 32);
        }
    }

    /// True where the builder may leave the event out: fewer than half of the boards sent it with their own time, or
    /// most boards are in another burst, or go back in the burst.
    bool may_be_left_out(std::uint64_t key, const VirtualChain::Event& event) const {
        if (!changes_.any()) return false;
        if (event.made_key == 0 || event.is_mixed) return true;
        const bool is_wrong_burst = has_wrong_time_.contains(key >> 32);
        if (is_wrong_burst && (2 * changes_.n_wrong_clocks >= n_boards || is_of_wrong_clocks(event))) return true;
        if (event.anew.any()) return may_be_left_out_anew(event);
        const bool most_reboot = 2 * changes_.n_rebooting > n_boards;
        const bool half_leaves = 2 * changes_.n_rebooting == n_boards && changes_.restarts_steps;
        return (most_reboot || half_leaves) && is_after_reboot(event);
    }
    /// True where the event may lack boards that came in time, or have those of another one.
    bool may_lack(std::uint64_t key, const VirtualChain::Event& event) const {
        if (!changes_.any()) return false;
        if (event.wrong.any() || event.is_mixed) return true;
        if (event.anew.any() && loses_packets_ && event.made_key >> 32 == *rebooted_bursts_.begin()) return true;
        const bool may_be_apart = event.is_changed() && (!all_are_anew(event) || !changes_.restarts_steps);
        return (may_be_apart && !is_later_burst(event)) || has_wrong_time_.contains(key >> 32);
    }
    /// True where fragments with changed times make an event of the tick before, within the window of which this event
    /// lies.
    bool may_be_joined(std::uint64_t key) const {
        const auto before = events_.lower_bound(key - builder_window_ticks);
        return changes_.any() && before->first < key;
    }
    /// True where a board may not be waited for at the begin of a burst.
    bool follows_a_change(const VirtualChain::Event& event) const {
        const std::uint64_t burst = event.made_key >> 32;
        return changed_bursts_.contains(burst) || (burst > 0 && changed_bursts_.contains(burst - 1));
    }

  private:
    /// Then the first packets of a board that begins anew may have numbers that had not come before. They are used, and
    /// the begin is known later, when the board is in its next burst already: that one ends for the board.
    static bool loses_packets(const simulate::ChainTroubles& troubles) {
        const source::FaultsConfig& faults = troubles.faults;
        return faults.loss + faults.corrupt + faults.truncate > 0 || troubles.is_link_disturbed() ||
               troubles.wire.buffer_bytes < simulate::ChainTroubles::usual_buffer_bytes;
    }
    /// Where the others were silent, a board whose clock was ahead has moved time: it is late when its clock is right.
    bool is_of_wrong_clocks(const VirtualChain::Event& event) const {
        for (std::uint32_t board = 0; board < n_boards; ++board)
            if (event.came_ns[board] != 0 && !changes_.has_wrong_clock(board)) return false;
        return true;
    }
    static bool all_are_anew(const VirtualChain::Event& event) { return event.anew.all(); }
    /// The first burst that boards have sent after they began anew; later ones are like any other, where all boards
    /// give them the same number.
    bool is_later_burst(const VirtualChain::Event& event) const {
        return !changes_.restarts_steps && !rebooted_bursts_.empty() &&
               event.made_key >> 32 > *rebooted_bursts_.begin();
    }
    bool may_be_left_out_anew(const VirtualChain::Event& event) const {
        if (is_later_burst(event)) return false;
        if (!changes_.restarts_steps) return 2 * n_came_as_before(event) < n_boards;
        return 2 * changes_.n_rebooting <= n_boards;
    }
    static std::uint32_t n_came_as_before(const VirtualChain::Event& event) {
        std::uint32_t n = 0;
        for (std::uint32_t board = 0; board < n_boards; ++board)
            n += event.came_ns[board] != 0 && !event.anew[board] ? 1 : 0;
        return n;
    }
    bool is_after_reboot(const VirtualChain::Event& event) const {
        const Nanoseconds since_ns = event.first_came_ns() - simulate::World::begin_ns;
        return since_ns >= changes_.reboot_at_ns && !is_later_burst(event);
    }

    const simulate::BoardChanges& changes_;
    const std::map<std::uint64_t, VirtualChain::Event>& events_;
    const bool loses_packets_;
    std::set<std::uint64_t> changed_bursts_, rebooted_bursts_, has_wrong_time_;
};

using Events = std::map<std::uint64_t, VirtualChain::Event>;

/// The events in the order in which they were measured.
std::vector<std::pair<std::uint64_t, VirtualChain::Event>> in_order(const Events& events) {
    std::vector<std::pair<std::uint64_t, VirtualChain::Event>> all(events.begin(), events.end());
    std::ranges::stable_sort(
        all, {}, [](const auto& one) { return one.second.made_key == 0 ? one.first : one.second.made_key; });
    return all;
}

/// Checks each board's packets: each has the outcome that the rules give it by its number, and is counted.
void judge_packets(const VirtualChain& chain, std::vector<std::string>& findings) {
    for (std::uint32_t board = 0; board < n_boards; ++board) {
        const ExpectedPackets& expected = chain.packets(board);
        const std::string block = fmt::format("receive.board{}", board);
        const auto check = [&](const std::string& words, std::uint64_t is, std::uint64_t should) {
            if (is != should) findings.push_back(fmt::format("board {}: {} {}, not {}", board, is, words, should));
        };
        check("packets are passed over", chain.count(block, "lost_sequences"), chain.n_missing(board));
        if (chain.count(block, "datagrams") != expected.n_datagrams) continue;  // the rest was not read by the end
        check("packets are used", chain.count(block, "packets") + chain.count(block, "dropped_packets"),
              expected.n_used);
        check("packets are duplicates", chain.count(block, "duplicate_packets"), expected.n_duplicates);
        check("packets conflict", chain.count(block, "conflicting_packets"), expected.n_conflicting);
        check("times the board began anew", chain.count(block, "source_restarts"), expected.n_restarts);
    }
}

/// True if nothing that the node has counted makes the run less than good.
bool is_good_by_counters(const VirtualChain& chain) {
    constexpr std::array of_boards{"lost_sequences",  "before_joining",      "conflicting_packets", "stray_packets",
                                   "dropped_packets", "overwritten_packets", "kernel_dropped"};
    constexpr std::array of_build{"events_incomplete", "fragments_late", "fragments_ahead", "fragments_duplicate"};
    std::uint64_t n_lost = 0;
    for (const char* name : of_build) n_lost += chain.count("build", name);
    for (const char* name : {"primitives_late", "primitives_overflow", "frames_lost"})
        n_lost += chain.count("emit", name);
    for (std::uint32_t board = 0; board < n_boards && n_lost == 0; ++board) {
        const std::string block = fmt::format("receive.board{}", board);
        for (const char* name : of_boards) n_lost += chain.count(block, name);
        n_lost += chain.count(block, "datagrams") - chain.count(block + ".verdict", "ok");
        const auto state = static_cast<events::BoardState>(chain.count(fmt::format("build.board{}", board), "state"));
        n_lost += state == events::BoardState::ended ? 0 : 1;
    }
    return n_lost == 0;
}

/// Checks that the verdict on the run is not good where an event was sent, and not decided. Where the clocks of all
/// boards are wrong together, the boards agree on other times, and nobody can know of it.
void judge_verdict(const VirtualChain& chain, const VirtualScenario& scenario, std::vector<std::string>& findings) {
    if (scenario.troubles.boards.n_wrong_clocks == n_boards) return;
    if (chain.sent_keys().empty() || !chain.finished() || !is_good_by_counters(chain)) return;
    std::set<std::uint64_t> decided;
    for (const auto& [key, event] : chain.events())
        if (event.n_decisions > 0) decided.insert(event.made_key);
    for (const std::uint64_t key : chain.sent_keys())
        if (!decided.contains(key))
            findings.push_back(fmt::format("event {} of burst {} was sent, and not decided, and the verdict is good",
                                           key & 0xffffffff, key >> 32));
}

}  // namespace

std::vector<std::string> judge(const VirtualChain& chain, const VirtualScenario& scenario) {
    std::vector<std::string> findings;
    for (const std::string& notice : chain.notices())
        if (notice.find("draining took") != std::string::npos) findings.push_back(notice);
    std::map<std::uint64_t, std::uint32_t> pool_index_of;
    for (const source::TruthSample& sent : chain.sent()) pool_index_of[sent.event_key] = sent.pool_index;
    judge_packets(chain, findings);
    judge_verdict(chain, scenario, findings);
    const ChangeRules rules(chain, scenario);
    Bursts bursts(chain.events(), scenario.timeout_ns);
    Waits waits;
    for (const auto& [key, event] : in_order(chain.events())) {
        const std::string name = fmt::format("event {} of burst {}", key & 0xffffffff, key >> 32);
        if (event.n_decisions > 1 + event.n_again)
            findings.push_back(fmt::format("{} was decided {} times", name, event.n_decisions));
        if (event.first_came_ns() == 0) findings.push_back(name + " was decided, and never came");
        if (event.made_key != 0 && !pool_index_of.contains(event.made_key)) {
            findings.push_back(name + " was never sent");
            continue;
        }
        const bool is_late = waits.is_late(event, scenario.timeout_ns / 2), is_ahead = bursts.is_ahead(key);
        if (is_late || is_ahead || event.is_overtaken || scenario.is_disturbed(event.first_came_ns())) continue;
        const bool may_come_late = scenario.troubles.is_link_disturbed() || rules.follows_a_change(event);
        if (bursts.lacks(key, may_come_late) || rules.may_be_left_out(key, event)) continue;
        if (rules.may_be_joined(key)) continue;
        if (event.n_decisions == 0) findings.push_back(name + " came, and was not decided");
        if (!event.is_whole() || event.n_decisions + event.n_again != 1 || rules.may_lack(key, event)) continue;
        const std::uint16_t expected = ids_of_pool().at(pool_index_of.at(event.made_key));
        if (event.primitive_id != expected)
            findings.push_back(
                fmt::format("{} is {:#x}, and all of it came in time: {:#x}", name, event.primitive_id, expected));
    }
    if (scenario.stores) FileJudge(chain, scenario, findings).judge(scenario.troubles.disk_full_ns > 0);
    return findings;
}

}  // namespace anello::rich
