// SPDX-License-Identifier: Apache-2.0
// Sends the same datagrams through the card's data path and through Anello's own parser and merger, and compares
// verdicts, events and their order, and counters. Exit code 0: they agree.
//
//   data_path_check --seed N [--events N] [--mode sorted|faults|na62] [--events-per-packet N] [--markers-too]
//                   [--stalls SHARE] [--gaps SHARE] [--reject] [--verbose]
//
// sorted: each board's fragments in the order of time, with losses, repetitions, neighbours in and around the window,
//         wraps and several bursts. Their outcomes do not depend on timing: the software takes whole packets.
// faults: packets lost, repeated, reordered, damaged, cut; boards that fall silent, jumps in time. Here outcomes depend
//         on which fragments have arrived when an event is sent, so the software follows the card (card_follower.hpp).
//         With --markers-too burst markers are lost, repeated and reordered as well.
// na62:   packets of Anello's simulated RICH front ends.
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "card_follower.hpp"
#include "data_path_card.hpp"
#include "front_ends.hpp"
#include "software_path.hpp"

namespace {

using card::Card;
using card::Datagram;
using card::n_boards;
using front_ends::Dice;
using front_ends::FrontEnds;
using front_ends::Options;
using front_ends::simulate_na62;
using events_counter = anello::events::BuildCounter;

Options read_options(int n, char** words) {
    std::map<std::string, std::string> given;
    Options o;
    for (int i = 1; i < n; ++i) {
        const std::string word = words[i];
        if (word == "--reject")
            o.reject = true;
        else if (word == "--verbose")
            o.is_verbose = true;
        else if (word == "--markers-too")
            o.markers_too = true;
        else if (i + 1 < n)
            given[word] = words[++i];
    }
    if (given.count("--seed")) o.seed = std::stoull(given["--seed"]);
    if (given.count("--events")) o.n_events = static_cast<std::uint32_t>(std::stoul(given["--events"]));
    if (given.count("--mode")) o.mode = given["--mode"];
    if (given.count("--events-per-packet"))
        o.events_per_packet = static_cast<std::uint32_t>(std::stoul(given["--events-per-packet"]));
    if (given.count("--stalls")) o.stalls = std::stod(given["--stalls"]);
    if (given.count("--gaps")) o.gaps = std::stod(given["--gaps"]);
    return o;
}

/// Runs card and software, and compares them.
class Check {
  public:
    Check(const Options& options, const card::Config& config)
        : options_(options), card_(config, options.seed), path_(merger_config(options, config)), follower_(path_) {
        follower_.is_verbose = options.is_verbose;
        for (std::uint16_t b = 0; b < n_boards; ++b) parsers_.emplace_back(config.stream_to_id + b, b);
    }

    static anello::events::MergerConfig merger_config(const Options& options, const card::Config& config) {
        anello::events::MergerConfig merger;
        merger.n_boards = n_boards;
        merger.window_ticks = config.window;
        merger.timeout_ns = config.timeout_cycles;
        merger.keep_incomplete = config.keep_incomplete || options.mode == "faults";  // card_follower.hpp
        merger.max_fragments_per_block = 12'000;
        merger.blocks_per_board = 64;
        merger.batch = {.max_events = options.mode == "faults" ? 1U : 64U, .max_hits = 8192};
        return merger;
    }

    bool run(std::vector<Datagram> datagrams) {
        n_datagrams_ = datagrams.size();
        for (Datagram& d : datagrams) card_.send(std::move(d));
        // The card may keep fragments that the software keeps, too: then there is no more progress.
        for (std::uint64_t idle = 0; idle < 3'000 + 5 * timeout(); ++idle) {
            card_.step([&](Card& c) { before_edge(c); });
            if (!card_.sent_all() || moved_) idle = 0;
            moved_ = false;
            if (failed_) break;
            if (card_.cycle > 4'000'000'000) return fail("no end");
        }
        // With faults both may keep heads that other boards do not follow.
        if (!has_faults() && !path_.finish()) return fail("the software does not end");
        compare();
        return !failed_;
    }

    void report() {
        const double per_event = card_.events.size() > 1
                                     ? static_cast<double>(card_.last_event_cycle - card_.first_event_cycle) /
                                           static_cast<double>(card_.events.size() - 1)
                                     : 0;
        std::uint64_t late = 0, duplicate = 0, ahead = 0, silenced = 0;
        for (std::uint32_t b = 0; b < n_boards; ++b)
            late += card_.counts.late[b], duplicate += card_.counts.duplicate[b], ahead += card_.counts.ahead[b],
                silenced += card_.counts.silenced[b];
        std::printf(
            "seed %llu %s: %zu datagrams, %zu events (%llu incomplete), %llu merged, %llu late, %llu duplicate, %llu "
            "ahead, "
            "%llu silenced, %llu bursts; %llu cycles, %.2f an event, %.2f words an event; verdicts",
            static_cast<unsigned long long>(options_.seed), options_.mode.c_str(), n_datagrams_, card_.events.size(),
            static_cast<unsigned long long>(card_.counts.incomplete),
            static_cast<unsigned long long>(card_.counts.merged), static_cast<unsigned long long>(late),
            static_cast<unsigned long long>(duplicate), static_cast<unsigned long long>(ahead),
            static_cast<unsigned long long>(silenced), static_cast<unsigned long long>(card_.counts.bursts),
            static_cast<unsigned long long>(card_.cycle), per_event,
            card_.events.empty() ? 0.0 : static_cast<double>(card_.n_words) / static_cast<double>(card_.events.size()));
        for (unsigned v = 0; v < 16; ++v)
            if (card_.counts.verdicts[v] > 0)
                std::printf(" %u:%llu", v, static_cast<unsigned long long>(card_.counts.verdicts[v]));
        std::printf("\n");
    }

  private:
    bool fail(const std::string& what) {
        if (!failed_)
            std::printf("FAILED seed %llu cycle %llu: %s\n", static_cast<unsigned long long>(options_.seed),
                        static_cast<unsigned long long>(card_.cycle), what.c_str());
        failed_ = true;
        return false;
    }
    bool has_faults() const { return options_.mode == "faults"; }
    std::uint64_t timeout() const { return has_faults() ? 100'000 : 0; }

    void before_edge(Card& c) {
        auto& top = c.top();
        if (top.dropped) fail("a store was full");
        if (has_faults()) {
            const std::string what = follower_.follow(top, card_.cycle);
            if (!what.empty()) fail(what);
        }
        if (top.verdict_valid) on_verdict(top.verdict);
        moved_ = moved_ || top.event_complete || top.event_incomplete || top.verdict_valid || top.taken || top.late ||
                 top.duplicate || top.m_tvalid;
    }

    void on_verdict(unsigned of_card) {
        const Datagram d = std::move(card_.in_doubt.front());
        card_.in_doubt.pop_front();
        std::vector<software::Block> blocks;
        const unsigned expected =
            d.is_bad
                ? card::bad_frame
                : static_cast<unsigned>(parsers_[d.board].parse(d.bytes, static_cast<std::int64_t>(d.stamp), blocks));
        if (of_card != expected)
            fail("verdict " + std::to_string(of_card) + ", software " + std::to_string(expected) + ", " +
                 std::to_string(d.bytes.size()) + " bytes");
        for (software::Block& block : blocks) {
            n_fragments_ += block.fragments.size();
            if (has_faults())
                follower_.queue(d.board, block);
            else
                path_.source.give(d.board, block);
        }
        if (!has_faults()) path_.work();
    }

    template <typename A, typename B>
    void same(const char* what, A of_card, B of_software) {
        if (static_cast<std::uint64_t>(of_card) != static_cast<std::uint64_t>(of_software))
            fail(std::string(what) + ": card " + std::to_string(of_card) + ", software " + std::to_string(of_software));
    }

    std::uint64_t n_heads() {
        const std::uint32_t heads = card_.top().shown | card_.top().doubted;
        return static_cast<std::uint64_t>(std::popcount(heads));
    }

    void compare() {
        using enum anello::events::BuildCounter;
        const card::Counts& c = card_.counts;
        std::uint64_t n_rejected = path_.value(events_rejected);
        if (has_faults() && options_.reject)
            n_rejected += std::erase_if(path_.found, [](const card::Event& event) { return event.missing != 0; });
        for (std::size_t i = 0; i < std::min(card_.events.size(), path_.found.size()); ++i) {
            if (card_.events[i] == path_.found[i]) continue;
            const card::Event &a = card_.events[i], &b = path_.found[i];
            std::printf(
                "event %zu: card %llx+%u flags %u missing %x, %zu hits; software %llx+%u flags %u missing %x, %zu "
                "hits\n",
                i, static_cast<unsigned long long>(a.key), a.fine, a.flags, a.missing, a.hit_id.size(),
                static_cast<unsigned long long>(b.key), b.fine, b.flags, b.missing, b.hit_id.size());
            fail("events differ");
            break;
        }
        same("events", card_.events.size(), path_.found.size());
        same("complete", c.complete, path_.value(events_complete));
        same("incomplete", c.incomplete, path_.value(events_incomplete));
        same("rejected", c.rejected, n_rejected);
        same("merged", c.merged, path_.value(fragments_merged));
        same("bursts", c.bursts, path_.value(bursts_out));
        std::uint64_t sum = c.merged;
        using B = anello::events::BoardCounter;
        for (std::uint32_t b = 0; b < n_boards; ++b) {
            const auto& of_board = path_.merger.board_counters(b);
            same("duplicate", c.duplicate[b], of_board[B::fragments_duplicate]);
            // With faults, fragments after a head that was not followed come to the software after their burst.
            same("late or ahead", c.late[b] + c.ahead[b],
                 of_board[B::fragments_late] + of_board[B::fragments_ahead] + follower_.n_behind(b));
            if (!has_faults()) same("late", c.late[b], of_board[B::fragments_late]);
            same("missing", c.missing[b], of_board[B::missing]);
            same("silences", c.silenced[b], of_board[B::silences]);
            sum += c.late[b] + c.duplicate[b] + c.ahead[b] + follower_.n_left(b);
        }
        if (has_faults()) sum += n_heads();
        same("fragments with an outcome, or kept", sum, n_fragments_);
    }

    const Options& options_;
    Card card_;
    software::Path path_;
    std::deque<software::Parser> parsers_;
    std::size_t n_datagrams_ = 0;
    std::uint64_t n_fragments_ = 0;
    bool moved_ = false, failed_ = false;
    CardFollower follower_;
};

}  // namespace

int main(int n, char** words) {
    const Options options = read_options(n, words);
    card::Config config;
    Dice dice(options.seed * 77);
    config.window = options.mode == "na62" ? 1 : dice.below(6);
    config.input_gaps = options.gaps;
    config.output_stalls = options.stalls;
    config.keep_incomplete = !options.reject;
    // No time-out ends, as the software's time stands still, and all fragments are near enough to be believed.
    config.timeout_cycles = options.mode == "faults" ? 100'000 : 100'000'000;
    if (options.mode == "na62") config.stream_to_id = 0;
    config.far_fine = static_cast<std::uint64_t>(static_cast<double>(config.timeout_cycles) / anello::fine_time_ns) +
                      config.window * 256;
    std::vector<Datagram> datagrams =
        options.mode == "na62" ? simulate_na62(options, options.seed % 2 == 0) : FrontEnds(options, config).make();
    Check check(options, config);
    const bool agree = check.run(std::move(datagrams));
    check.report();
    return agree ? 0 : 1;
}
