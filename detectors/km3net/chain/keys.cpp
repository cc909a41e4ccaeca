// SPDX-License-Identifier: Apache-2.0
#include "km3net/chain/keys.hpp"

#include "pipeline/thread_keys.hpp"

namespace anello::km3net {
namespace {

using L = Key<LineConfig>;
constexpr std::array of_line{
    L::of<&LineConfig::n_doms>("doms", {1, max_doms}, "DOMs, above each other, 31 PMTs each."),
    L::of<&LineConfig::first_dom_id>("first_dom_id", {0, 0xffff'ffff - max_doms},
                                     "Id of the lowest one; those above count on."),
    L::of<&LineConfig::first_height_m>("first_height_m", {0, 10'000}, "Height of the lowest DOM, m."),
    L::of<&LineConfig::spacing_m>("spacing_m", {0.1, 1000}, "Distance of two DOMs, m; ARCA 36, ORCA about 9."),
    L::of<&LineConfig::detector_id>("detector_id", {0, 0x7fff'ffff}, "Number of the detector, in its messages."),
    L::of<&LineConfig::t0_spread_ns>("t0_spread_ns", {0, 1000},
                                     "Delay of a PMT against the others, at most, to both sides, ns.")
        .for_experts(),
    L::of<&LineConfig::seed>("t0_seed", {0, 4e18}, "Seed of these delays: boards and node must have the same.")
        .for_experts(),
    L::of<&LineConfig::long_header>(
        "long_header", "Headers of 40 bytes, and trailers, as in the sea; false: 28 bytes, older boards, no trailers."),
};

using S = SourceConfig;
using Sea = SimulationConfig;
using B = Key<S>;
constexpr std::array of_run{
    B::of<&S::n_slices>("n_slices", {0, 0xffff'ffff}, "Slices of 100 ms in the run; 0: as duration_s says."),
};
constexpr std::array of_boards{
    B::of<in<&S::simulation, &Sea::singles_hz>>("singles_hz", {0, 1e6},
                                                "Mean rate of a PMT without coincidences, Hz; PMTs differ by 10 %."),
    B::of<in<&S::simulation, &Sea::k40_hz>>("k40_hz", {0, 1e5}, "Coincidences from 40K decays, Hz per DOM.")
        .for_experts(),
    B::of<in<&S::simulation, &Sea::afterpulse_share>>("afterpulse_share", share,
                                                      "Share of hits with another of the same PMT 6 to 25 ns later.")
        .for_experts(),
    B::of<in<&S::simulation, &Sea::time_spread_ns>>("time_spread_ns", {0, 100}, "Spread of a PMT's times (sigma), ns.")
        .for_experts(),
    B::of<in<&S::simulation, &Sea::muon_hz>>("muon_hz", {0, 1e4},
                                             "Muons that pass within muon_radius_m of the line, nearly downwards, /s."),
    B::of<in<&S::simulation, &Sea::muon_radius_m>>("muon_radius_m", {0.1, 1000}, "Greatest distance of a muon, m.")
        .for_experts(),
    B::of<&S::host>("host", not_empty, "Address of the node."),
    B::of<&S::ports>("ports", Limits{}.entries(1, 1024),
                     "UDP ports of the node, which DOMs take in turn; 0: what the node has bound (anello run only)."),
    B::of<&S::first_dom>("first_dom", {0, max_doms - 1}, "First DOM that sends; nodes of a farm start their share."),
    B::of<&S::n_doms>("doms", {0, max_doms}, "How many DOMs send; 0: all from first_dom on."),
    B::of<&S::run>("run_number", "Number of the run, in every datagram."),
    B::of<&S::first_slice>(
        "first_slice", {0, 4e10},
        "Number of the first slice, in 100 ms since 1970; 0: that of the start. A farm counts from it, "
        "also where boards are real: slices before it are not used."),
    B::of<&S::pool_slices>("pool_slices", {1, 1000}, "Different slices made at start, 2.3 MB each; sent in turn.")
        .for_experts(),
    B::of<&S::hits_per_datagram>("hits_per_datagram", {1, 10'000},
                                 "Most hits of a datagram, 6 bytes each; 229 fit into 1500 bytes.")
        .for_experts(),
    B::of<&S::paced>("paced", "Send by the clock; false: as fast as it goes."),
    B::of<&S::max_behind_ms>("max_behind_ms", {0.001, 10'000},
                             "Farther behind, time is forgone instead of sending a flood, ms.")
        .for_experts(),
    B::of<in<&S::thread, &ThreadConfig::core>>("core", {-1, 4095}, "Logical core of the sending thread; -1: any."),
};

using Faults = source::FaultsConfig;
using F = Key<Faults>;
constexpr std::array of_faults{
    F::of<&Faults::loss>("loss", share, "Share of datagrams that are not sent."),
    F::of<&Faults::duplicate>("duplicate", share, "Share of datagrams that are sent twice."),
    F::of<&Faults::reorder>("reorder", share, "Share of datagrams that are sent after their successor."),
    F::of<&Faults::dead_board>("dead_board", {-1, max_doms - 1}, "DOM that falls silent; -1: none."),
    F::of<&Faults::dead_from_event>("dead_from_slice", {0, 0xffff'ffff}, "First slice without it, from 0."),
};

using Slices = SliceBuilderConfig;
using W = Key<Slices>;
constexpr std::array of_slices{
    W::of<&Slices::run>(
        "run_number",
        "Run that is used, others are counted; 0: of each slice that which at least half of the DOMs say."),
    W::of<&Slices::window_slices>("window", {2, 1000}, "Slices open at a time: how far DOMs may be apart."),
    W::of<&Slices::max_lag_slices>("max_lag", {0, 1000},
                                   "A slice is passed on when half of the DOMs are this far beyond it."),
    W::of<in<&Slices::store, &SliceStoreConfig::n_slices>>("n_slices", {4, 2000},
                                                           "Slices in memory, 7 MB each for a line; above window + 1."),
    W::of<in<&Slices::store, &SliceStoreConfig::max_hits>>(
        "max_hits", {1, 1e7}, "Room for hits of a DOM in a slice; at 20 kHz per PMT 62,000.")
        .for_experts(),
    W::of<&Slices::timeout_ns, ns_per_ms>("timeout_ms", {1, 1e6},
                                          "A slice is passed on at most this long after its first datagram, ms."),
};

using Trigger = SliceTriggerConfig;
using Events = EventFinderConfig;
using T = Key<Trigger>;
constexpr std::array of_coincidences{
    T::of<&Trigger::l1_ns>("l1_ns", {0, 1000}, "L1: two hits of a DOM so close in time, ns."),
    T::of<&Trigger::different_pmts>("different_pmts",
                                    "An L1 needs two PMTs; false: two hits of one PMT do too. Both are counted."),
    T::of<&Trigger::l2_ns>("l2_ns", {0, 1000}, "L2 and supernova: hits so close in time, ns."),
    T::of<&Trigger::l2_cos_min>("l2_cos_min", {-1, 1},
                                "L2: least cosine of the angle between two PMTs; 0: within 90 degrees.")
        .for_experts(),
    T::of<&Trigger::sn_pmts>("sn_pmts", {2, n_pmts}, "Supernova: least number of PMTs of a DOM."),
    T::of<in<&Trigger::events, &Events::min_hits>>("min_hits", {2, 1000}, "Event: least number of L1."),
    T::of<in<&Trigger::events, &Events::min_doms>>("min_doms", {2, 1000}, "Event: least number of DOMs."),
    T::of<in<&Trigger::events, &Events::road_m>>("road_m", {0, 1000},
                                                 "Event: greatest distance between a DOM and the muon, m; ORCA 43.")
        .for_experts(),
    T::of<in<&Trigger::events, &Events::reach_m>>("reach_m", {0, 10'000},
                                                  "Event: greatest distance of two DOMs, m; ORCA 165.")
        .for_experts(),
    T::of<in<&Trigger::events, &Events::extra_ns>>("extra_ns", {0, 1000}, "Event: tolerance of the causal window, ns.")
        .for_experts(),
    T::of<in<&Trigger::events, &Events::limit>>("limit", {2, 1000},
                                                "More L1 in one neighbourhood are an event without looking further.")
        .for_experts(),
    T::of<&Trigger::snapshot_ns>("snapshot_ns", {0, 1e6}, "Hits shown this long before and behind an event, ns."),
};

constexpr std::array of_store{
    Key<MessageStoreConfig>::of<&MessageStoreConfig::path>(
        "messages",
        "File of the experiment's own messages (L1 slices, summary slices, events), relative to the report "
        "directory; empty: none."),
    Key<MessageStoreConfig>::of<in<&MessageStoreConfig::rules, &store::FileRules::max_bytes>>(
        "max_file_bytes", {0, 1e15}, "A new file (-0001, -0002 ...) once one has so many bytes; 0: one file."),
};

}  // namespace

constinit const Keys<LineConfig> line_keys{"line", "The line of optical modules (DOMs), and how their boards send.",
                                           of_line};
constinit const Keys<SourceConfig> run_keys{"run", "The run as a whole.", of_run};
constinit const Keys<SourceConfig> boards_keys{
    "boards", "The front ends: what a simulated sea lets the PMTs see, and how the boards send it.", of_boards};
constinit const Keys<Faults> faults_keys{
    "boards.faults", "Faults that the boards make on purpose, by run.seed. Shares are per datagram and DOM.",
    of_faults};
constinit const Keys<Slices> slices_keys{"slices", "Datagrams of all DOMs into slices of 100 ms.", of_slices};
constinit const Keys<Trigger> coincidences_keys{
    "coincidences",
    "What is looked for in a slice: coincidences of a DOM (L1, L2, supernova), and events of several DOMs.",
    of_coincidences};
constinit const Keys<MessageStoreConfig> store_keys{"store", "Slices and events to a file.", of_store};
constinit const Keys<LineThreads> threads_keys{"threads", pipeline::threads_meaning,
                                               pipeline::thread_keys<LineThreads, chain>};

}  // namespace anello::km3net
