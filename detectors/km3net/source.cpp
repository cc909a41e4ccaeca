// SPDX-License-Identifier: Apache-2.0
#include "km3net/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/errors.hpp"
#include "km3net/keys.hpp"
#include "km3net/slice.hpp"
#include "source/send_books.hpp"

namespace anello::km3net {
namespace {

using C = source::SourceCounter;
using source::Fault, source::GeneratorCounter, source::Withheld;
constexpr std::uint32_t time_valid = 1U << 31;  // of status 1
constexpr std::int64_t trailer_spacing_ns = 10'000;

const SourceConfig& validated(const SourceConfig& config) {
    config.validate();
    return config;
}

}  // namespace

void SourceConfig::validate() const {
    line_keys.check(line);
    boards_keys.check(*this);
    faults.validate(faults_keys, line.n_doms);
    if (first_dom >= end_dom() || end_dom() > line.n_doms)
        throw ConfigError("boards.doms", "must be DOMs of the line, from boards.first_dom on",
                          fmt::format("{} from {} on", n_doms, first_dom), "The line has line.doms; 0 takes the rest.");
}

std::vector<source::BoardEndpoint> SourceConfig::endpoints() const {
    std::vector<source::BoardEndpoint> endpoints;
    for (std::uint32_t dom = first_dom; dom < end_dom(); ++dom)
        endpoints.push_back({static_cast<std::uint16_t>(dom), host, ports[(dom - first_dom) % ports.size()]});
    return endpoints;
}

Source::Source(const SourceConfig& config, source::PacketSink& sink, const Clock& clock, CounterPage& page)
    : config_(validated(config)),
      sink_(sink),
      clock_(clock),
      doms_(make_line(config.line)),
      counters_(page.add_block<GeneratorCounter>("source")),
      thread_(config.thread, [this] { return do_work(); }) {
    for (std::uint32_t dom = config.first_dom; dom < config.end_dom(); ++dom)
        boards_.push_back({source::FaultInjector(config.faults, config.simulation.seed, dom),
                           page.add_block<C>(fmt::format("source.board{}", dom)),
                           source::SentLog(source::max_withheld_ranges(doms_.size()))});
    const Simulation simulation(config.simulation, doms_);
    for (std::uint32_t i = 0; i < config.pool_slices; ++i) add_to_pool(simulation.slice(i));
    out_.reserve(n_out_most);
}

void Source::add_to_pool(const std::vector<SimulatedFrame>& frames) {
    std::vector<Planned>& slice = pool_.emplace_back();
    for (std::uint32_t dom = config_.first_dom; dom < config_.end_dom(); ++dom) plan_frame(slice, dom, frames[dom]);
    std::ranges::stable_sort(slice, {}, &Planned::due_ns);
}

/// A datagram goes when it is full, the last one and the trailer when the slice ends.
void Source::plan_frame(std::vector<Planned>& slice, std::uint32_t dom, const SimulatedFrame& frame) const {
    const std::int64_t end_ns = slice_ns + dom * trailer_spacing_ns;
    clb::Header header{.run_number = config_.run, .dom_id = doms_[dom].id, .dom_status = time_valid | frame.vetoed};
    const auto add = [&](std::int64_t due_ns, std::span<const clb::Hit> hits) {
        Planned& planned = slice.emplace_back(
            Planned{due_ns, dom, static_cast<std::uint32_t>(hits.size()), header,
                    std::vector<std::byte>(config_.line.header_bytes() + hits.size() * clb::hit_bytes)});
        clb::write(planned.bytes, header, hits, config_.line.header_bytes());
        ++header.udp_sequence;
    };
    for (std::span<const clb::Hit> left = frame.hits; !left.empty() || header.udp_sequence == 0;) {
        const auto hits = left.first(std::min<std::size_t>(config_.hits_per_datagram, left.size()));
        left = left.subspan(hits.size());
        add(left.empty() ? end_ns : hits.back().time_ns, hits);
    }
    header.more_status[0] = trailer_bit;
    add(end_ns, {});
}

void Source::start() {
    thread_.start();
    started_ = true;
}

void Source::stop() {
    stop_requested_.store(true, std::memory_order_relaxed);
    if (!started_) return;
    finished_.wait(false, std::memory_order_acquire);  // pairs with the release in end_slice
    thread_.stop();
}

// Hot path from here on: no allocation (all is reserved), no lock, no log, no throw.
std::size_t Source::do_work() noexcept {
    if (finished_.load(std::memory_order_relaxed)) return 0;
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (!begun_) begin(now_ns);
    const std::int64_t until_ns = config_.paced ? time_in_slice(now_ns) : std::numeric_limits<std::int64_t>::max();
    std::size_t n = 0;
    for (; n < n_out_most / 4 && next_ < plan().size() && plan()[next_].due_ns <= until_ns; ++n)
        send_planned(plan()[next_++]);
    flush();
    if (next_ == plan().size()) end_slice();
    return n;
}

/// Slices begin at whole tenths of a second of the world's clock, but not on it: the first begins now.
void Source::begin(Nanoseconds now_ns) noexcept {
    begun_ = true;
    start_ns_ = now_ns;
    first_slice_ =
        config_.first_slice > 0 ? config_.first_slice : static_cast<std::uint64_t>(clock_.wall_ns() / slice_ns);
}

/// Far behind, catching up would be a flood: time is forgone instead.
std::int64_t Source::time_in_slice(Nanoseconds now_ns) noexcept {
    std::int64_t time_ns = now_ns - start_ns_ - static_cast<std::int64_t>(n_sent_) * slice_ns;
    const std::int64_t behind_ns = time_ns - plan()[next_].due_ns;
    if (behind_ns > static_cast<std::int64_t>(counters_[GeneratorCounter::behind_ns_max]))
        counters_.set(GeneratorCounter::behind_ns_max, static_cast<std::uint64_t>(behind_ns));
    const std::int64_t excess_ns = behind_ns - static_cast<std::int64_t>(config_.max_behind_ms * 1e6);
    if (excess_ns <= 0) return time_ns;
    start_ns_ += excess_ns;
    counters_.add(GeneratorCounter::time_forgone_ns, static_cast<std::uint64_t>(excess_ns));
    return time_ns - excess_ns;
}

void Source::send_planned(Planned& planned) noexcept {
    Board& board = board_of(planned);
    const std::uint64_t number = first_slice_ + n_sent_;
    const std::uint32_t epoch = static_cast<std::uint32_t>(number), sequence = planned.header.udp_sequence;
    planned.header.utc_s = static_cast<std::uint32_t>(number / slices_per_second);
    planned.header.utc_16ns = static_cast<std::uint32_t>(number % slices_per_second) * ticks_per_slice;
    clb::write(planned.bytes, planned.header, {}, config_.line.header_bytes());
    const Fault fault = board.faults.next();
    board.counters.add(C::packets);
    board.counters.add(C::fragments);
    board.counters.add(C::hits, planned.n_hits);
    board.log.made.add(epoch, sequence, sequence + 1);
    const bool is_dead = config_.faults.dead_board == static_cast<std::int32_t>(planned.dom) &&
                         n_sent_ >= config_.faults.dead_from_event;
    if (is_dead || fault == Fault::loss) {
        board.counters.add(is_dead ? C::packets_dead_board : C::packets_lost_injected);
        board.log.withhold(epoch, sequence, sequence + 1, is_dead ? Withheld::board_dead : Withheld::lost_on_purpose);
        return;
    }
    board.counters.add(C::bytes, planned.bytes.size());
    if (fault == Fault::reorder && board.held == nullptr) {
        board.held = &planned;
        board.counters.add(C::packets_reordered_injected);
        return;
    }
    put_out(planned);
    if (fault == Fault::duplicate) {
        put_out(planned);
        board.counters.add(C::packets_duplicated_injected);
    }
    if (board.held != nullptr) put_out(*std::exchange(board.held, nullptr));
}

void Source::put_out(const Planned& planned) noexcept {
    const auto epoch = static_cast<std::uint32_t>(first_slice_ + n_sent_);
    out_.push_back({planned.bytes, planned.dom - config_.first_dom, 1, epoch, planned.header.udp_sequence, 1});
}

void Source::flush() noexcept {
    if (out_.empty()) return;
    sink_.send(out_, clock_.wall_ns(), results_.data());
    counters_.add(GeneratorCounter::sends);
    for (std::size_t i = 0; i < out_.size(); ++i) {
        Board& board = boards_[out_[i].stream];
        source::count_result(board.counters, board.log, out_[i], results_[i]);
    }
    out_.clear();
}

/// A datagram that waits to be sent after its successor goes at the latest with the trailers.
void Source::end_slice() noexcept {
    for (Board& board : boards_) {
        if (out_.size() == n_out_most) flush();
        if (board.held != nullptr) put_out(*std::exchange(board.held, nullptr));
    }
    flush();
    counters_.add(GeneratorCounter::events);
    next_ = 0;
    ++n_sent_;
    if ((config_.n_slices == 0 || n_sent_ < config_.n_slices) && !stop_requested_.load(std::memory_order_relaxed))
        return;
    finished_.store(true, std::memory_order_release);  // pairs with the acquires in running() and stop()
    finished_.notify_all();
}

}  // namespace anello::km3net
