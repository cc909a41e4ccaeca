// SPDX-License-Identifier: Apache-2.0
// The same datagrams through the card's data path and through Anello's own parser and merger: same verdicts, same
// events in the same order, same counters. Exit code 0: they agree.
//
//   data_path_check --seed N [--events N] [--mode sorted|faults|na62] [--stalls SHARE] [--gaps SHARE] [--reject]
//
// sorted: each board's fragments in the order of time, with losses, repetitions, neighbours in and around the window,
//         wraps and several bursts. What becomes of them depends on no timing: the software takes whole packets.
// faults: packets lost, repeated, reordered, damaged, cut; boards that fall silent, jumps in time. Here outcomes depend
//         on what is at hand when an event goes, so the software is given each fragment when the card takes it.
// na62:   packets of Anello's simulated RICH front ends.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

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
        else if (i + 1 < n)
            given[word] = words[++i];
    }
    if (given.count("--seed")) o.seed = std::stoull(given["--seed"]);
    if (given.count("--events")) o.n_events = static_cast<std::uint32_t>(std::stoul(given["--events"]));
    if (given.count("--mode")) o.mode = given["--mode"];
    if (given.count("--stalls")) o.stalls = std::stod(given["--stalls"]);
    if (given.count("--gaps")) o.gaps = std::stod(given["--gaps"]);
    return o;
}

/// Runs both and compares.
class Check {
  public:
    Check(const Options& options, const card::Config& config)
        : options_(options), card_(config, options.seed), path_(merger_config(options, config)) {
        for (std::uint16_t b = 0; b < n_boards; ++b) parsers_.emplace_back(config.stream_to_id + b, b);
    }

    static anello::events::MergerConfig merger_config(const Options& options, const card::Config& config) {
        anello::events::MergerConfig merger;
        merger.n_boards = n_boards;
        merger.window_ticks = config.window;
        merger.timeout_ns = config.timeout_cycles;
        merger.keep_incomplete = config.keep_incomplete;
        merger.max_fragments_per_block = 12'000;
        merger.blocks_per_board = 64;
        merger.batch = {.max_events = options.mode == "faults" ? 1U : 64U, .max_hits = 8192};
        return merger;
    }

    bool run(std::vector<Datagram> datagrams) {
        n_datagrams_ = datagrams.size();
        for (Datagram& d : datagrams) card_.send(std::move(d));
        // The card may keep what software keeps: then nothing moves any more.
        for (std::uint64_t idle = 0; idle < 3'000 + 5 * timeout(); ++idle) {
            card_.step([&](Card& c) { before_edge(c); });
            if (!card_.sent_all() || moved_) idle = 0;
            moved_ = false;
            if (failed_) break;
            if (card_.cycle > 4'000'000'000) return fail("no end");
        }
        if (options_.mode == "faults")
            for (std::uint32_t b = 0; b < n_boards; ++b) give_all(b);
        if (!path_.finish()) return fail("the software does not end");
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
    struct Item {
        software::Block block;  ///< one fragment, or an end
    };

    bool fail(const std::string& what) {
        if (!failed_)
            std::printf("FAILED seed %llu cycle %llu: %s\n", static_cast<unsigned long long>(options_.seed),
                        static_cast<unsigned long long>(card_.cycle), what.c_str());
        failed_ = true;
        return false;
    }
    std::uint64_t timeout() const { return options_.mode == "faults" ? 100'000 : 0; }

    void before_edge(Card& c) {
        auto& top = c.top();
        if (top.dropped) fail("a store was full");
        if (options_.mode == "faults") follow(top);
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
            if (options_.mode != "faults") {
                path_.source.give(d.board, block);
                continue;
            }
            if (block.is_end) queue_[d.board].push_back({block});
            for (software::Fragment& f : block.fragments)
                queue_[d.board].push_back({{{std::move(f)}, block.burst_id, false, block.stamp}});
        }
        if (options_.mode != "faults") path_.work();
    }

    // ---- faults: the software gets each fragment when the card has taken it
    void give_front(std::uint32_t b) {
        const software::Block& block = queue_[b].front().block;
        if (options_.is_verbose)
            std::printf("cycle %llu board %u gives burst %x %s %x\n", static_cast<unsigned long long>(card_.cycle), b,
                        block.burst_id, block.is_end ? "end" : "ticks",
                        block.is_end ? 0 : block.fragments[0].timestamp_ticks);
        path_.source.give(b, block);
        queue_[b].pop_front();
    }
    void give_fragment(std::uint32_t b) {
        while (!queue_[b].empty() && queue_[b].front().block.is_end) give_front(b);
        if (is_given_[b])
            is_given_[b] = false;
        else if (queue_[b].empty())
            fail("the card took a fragment that never came");
        else
            give_front(b);
    }
    void give_all(std::uint32_t b) {
        while (!queue_[b].empty()) give_front(b);
    }
    void follow(const Vdata_path& top) {
        for (std::uint32_t b = 0; b < n_boards; ++b) {
            const auto has = [&](auto flags) { return ((flags >> b) & 1) != 0; };
            // A head in doubt that is dropped was given when it became the head.
            const bool was_head = doubted_[b] && !has(top.doubted);
            doubted_[b] = has(top.doubted);
            for (const bool pulse :
                 {has(top.late) && !was_head, has(top.duplicate), has(top.ahead) && !was_head, has(top.taken)})
                if (pulse) give_fragment(b);
            if (options_.is_verbose && (has(top.late) || has(top.duplicate) || has(top.ahead) || has(top.taken)))
                std::printf("cycle %llu board %u%s%s%s%s, %x silent %x ended\n",
                            static_cast<unsigned long long>(card_.cycle), b, has(top.late) ? " late" : "",
                            has(top.duplicate) ? " duplicate" : "", has(top.ahead) ? " ahead" : "",
                            has(top.taken) ? " taken" : "", top.silent, top.ended);
            const bool waits = has(top.waiting);
            if (waits && !waited_[b] && !is_given_[b] && !queue_[b].empty()) {
                is_given_[b] = !queue_[b].front().block.is_end;
                give_front(b);
            }
            waited_[b] = waits;
            if (has(top.ended) && !is_given_[b] && !queue_[b].empty() && queue_[b].front().block.is_end) give_front(b);
        }
        if (top.event_complete || top.event_incomplete) decide("event");
        if (top.silenced) decide("silence", top.read_until);
        // The card ends a burst when its stores are read out; the software, which is given what the card has taken, may
        // have ended it before. Then it waits for the next one, in which no time has passed.
        const bool is_over_already = path_.value(events_counter::bursts_out) > card_.counts.bursts;
        if (top.burst_over) decide("end of burst", is_over_already ? 0 : top.read_until);
    }
    /// The software looks at its time-outs whenever it works, with nothing but heads at hand; the card decided that
    /// there is none, unless it says so. Hence time stands still but for those decisions.
    void decide(const char* what, std::int64_t read_until = 0) {
        path_.clock.set(std::max(path_.clock.monotonic_ns(), read_until));
        path_.source.read_until = read_until;
        path_.step();
        path_.source.read_until = 0;
        if (!options_.is_verbose) return;
        std::printf("cycle %llu %s: card %llu software %llu events; late and ahead, duplicate, silences",
                    static_cast<unsigned long long>(card_.cycle), what,
                    static_cast<unsigned long long>(card_.counts.complete + card_.counts.incomplete),
                    static_cast<unsigned long long>(path_.value(events_counter::events_built)));
        using B = anello::events::BoardCounter;
        const card::Counts& c = card_.counts;
        for (std::uint32_t b = 0; b < n_boards; ++b) {
            const auto& of = path_.merger.board_counters(b);
            const std::uint64_t software[] = {of[B::fragments_late] + of[B::fragments_ahead],
                                              of[B::fragments_duplicate], of[B::silences]};
            const std::uint64_t card[] = {c.late[b] + c.ahead[b], c.duplicate[b], c.silenced[b]};
            std::printf(" board %u", b);
            for (int i = 0; i < 3; ++i)
                std::printf(" %llu %llu,", static_cast<unsigned long long>(card[i]),
                            static_cast<unsigned long long>(software[i]));
        }
        std::printf("\n");
    }

    template <typename A, typename B>
    void same(const char* what, A of_card, B of_software) {
        if (static_cast<std::uint64_t>(of_card) != static_cast<std::uint64_t>(of_software))
            fail(std::string(what) + ": card " + std::to_string(of_card) + ", software " + std::to_string(of_software));
    }

    void compare() {
        using enum anello::events::BuildCounter;
        const card::Counts& c = card_.counts;
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
        same("rejected", c.rejected, path_.value(events_rejected));
        same("merged", c.merged, path_.value(fragments_merged));
        same("bursts", c.bursts, path_.value(bursts_out));
        std::uint64_t sum = c.merged;
        using B = anello::events::BoardCounter;
        for (std::uint32_t b = 0; b < n_boards; ++b) {
            const auto& of_board = path_.merger.board_counters(b);
            same("duplicate", c.duplicate[b], of_board[B::fragments_duplicate]);
            // With faults, what lies behind a head that nobody followed comes to the software when its burst has gone.
            same("late or ahead", c.late[b] + c.ahead[b], of_board[B::fragments_late] + of_board[B::fragments_ahead]);
            if (options_.mode != "faults") same("late", c.late[b], of_board[B::fragments_late]);
            same("missing", c.missing[b], of_board[B::missing]);
            same("silences", c.silenced[b], of_board[B::silences]);
            sum += c.late[b] + c.duplicate[b] + c.ahead[b];
        }
        same("fragments with an outcome", sum, n_fragments_);
    }

    const Options& options_;
    Card card_;
    software::Path path_;
    std::deque<software::Parser> parsers_;
    std::size_t n_datagrams_ = 0;
    std::uint64_t n_fragments_ = 0;
    bool moved_ = false, failed_ = false;
    std::deque<Item> queue_[n_boards];
    bool is_given_[n_boards] = {}, waited_[n_boards] = {}, doubted_[n_boards] = {};
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
    // Nothing times out where the software's time stands still; and all is near enough to be believed.
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
