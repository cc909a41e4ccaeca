// SPDX-License-Identifier: Apache-2.0
#include "km3net/source/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/errors.hpp"
#include "km3net/chain/keys.hpp"
#include "km3net/slices/slice.hpp"

namespace anello::km3net {
namespace {

constexpr std::int64_t trailer_spacing_ns = 10'000;

/// Gives the datagrams of the pool slice by slice, and sets the time of the current slice in them.
class SlicePlan final : public source::PacketPlan {
  public:
    SlicePlan(const SourceConfig& config, const Clock& clock, CounterPage& page)
        : PacketPlan(page), config_(config), clock_(clock), doms_(make_line(config.line)) {
        const Simulation simulation(config.simulation, doms_);
        for (std::uint32_t i = 0; i < config.pool_slices; ++i) add_to_pool(simulation.slice(i));
    }

    // Hot path: no allocation, no lock, no log, no throw.
    Next next(Nanoseconds until_ns, Packet& packet) noexcept override {
        if (next_ == 0 && (is_stopped_ || (config_.n_slices > 0 && n_slices_ >= config_.n_slices))) return Next::none;
        if (first_slice_ == 0) begin();
        const std::vector<Planned>& slice = pool_[n_slices_ % pool_.size()];
        planned_ = &slice[next_];
        number_ = first_slice_ + n_slices_;
        packet = {.due_ns = static_cast<std::int64_t>(n_slices_) * slice_ns + planned_->due_ns,
                  .stream = planned_->dom - config_.first_dom,
                  .step = n_slices_,
                  .epoch = static_cast<std::uint32_t>(number_),
                  .first_number = planned_->header.udp_sequence,
                  .n_hits = static_cast<std::uint32_t>(planned_->hits.size())};
        if (packet.due_ns > until_ns) return Next::later;
        if (next_ == 0) counters_.add(source::GeneratorCounter::events);
        if (++next_ == slice.size()) {
            next_ = 0;
            ++n_slices_;
        }
        return Next::packet;
    }
    std::span<const std::byte> write(const Packet&, Nanoseconds, std::span<std::byte> room) noexcept override {
        clb::Header header = planned_->header;
        header.utc_s = static_cast<std::uint32_t>(number_ / slices_per_second);
        header.utc_16ns = static_cast<std::uint32_t>(number_ % slices_per_second) * ticks_per_slice;
        return room.first(clb::write(room, header, planned_->hits, config_.line.header_bytes()));
    }
    void stop() noexcept override { is_stopped_ = true; }

  private:
    struct Planned {
        std::int64_t due_ns;  // since the slice's begin
        std::uint32_t dom;
        clb::Header header;
        std::vector<clb::Hit> hits;
    };

    /// A slice's time stamp is a whole tenth of a second of the wall clock, but sending of the first slice begins now.
    void begin() noexcept {
        first_slice_ =
            config_.first_slice > 0 ? config_.first_slice : static_cast<std::uint64_t>(clock_.wall_ns() / slice_ns);
    }
    void add_to_pool(const std::vector<SimulatedFrame>& frames) {
        std::vector<Planned>& slice = pool_.emplace_back();
        for (std::uint32_t dom = config_.first_dom; dom < config_.end_dom(); ++dom) plan_frame(slice, dom, frames[dom]);
        std::ranges::stable_sort(slice, {}, &Planned::due_ns);
    }
    /// A board sends a datagram when it is full, and the last one and the trailer when the slice ends.
    void plan_frame(std::vector<Planned>& slice, std::uint32_t dom, const SimulatedFrame& frame) const {
        const std::int64_t end_ns = slice_ns + dom * trailer_spacing_ns;
        clb::Header header{
            .run_number = config_.run, .dom_id = doms_[dom].id, .dom_status = clb::clock_is_valid | frame.vetoed};
        const auto add = [&](std::int64_t due_ns, std::span<const clb::Hit> hits) {
            slice.push_back({due_ns, dom, header, {hits.begin(), hits.end()}});
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

    const SourceConfig config_;
    const Clock& clock_;
    const std::vector<Dom> doms_;
    std::vector<std::vector<Planned>> pool_;  // datagrams of each slice, in order of time
    std::uint64_t first_slice_ = 0, n_slices_ = 0, number_ = 0;
    std::size_t next_ = 0;  // datagram of the slice
    const Planned* planned_ = nullptr;
    bool is_stopped_ = false;
};

source::PlannedSourceConfig planned(const SourceConfig& config) {
    return {.boards = config.endpoints(),
            .seed = config.simulation.seed,
            .paced = config.paced,
            .max_behind_ms = config.max_behind_ms,
            .max_packet_bytes = config.line.header_bytes() + config.hits_per_datagram * clb::hit_bytes,
            .faults = config.faults,
            .thread = config.thread};
}

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
    : PlannedSource(planned(validated(config)), std::make_unique<SlicePlan>(config, clock, page), sink, clock, page) {}

}  // namespace anello::km3net
