// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <stdexcept>

#include "arrays.hpp"
#include "config.hpp"
#include "exchange_ends.hpp"
#include "extension.hpp"
#include "keys.hpp"
#include "km3net/chain/keys.hpp"
#include "km3net/farm/ends.hpp"
#include "km3net/farm/farm_counters.hpp"
#include "km3net/simulate/virtual_line.hpp"
#include "km3net/wire/packet_formats.hpp"
#include "node_handle.hpp"
#include "source_handle.hpp"
#include "virtual_chains.hpp"

namespace anello::km3net {
namespace {

namespace nb = nanobind;
using bindings::ConfigReader;

LineConfig line_config(const ConfigReader& all) {
    LineConfig config;
    bindings::take(all.below("line"), line_keys, config);
    return config;
}

/// n_own_doms is the number of DOMs whose boards send to this node.
NodeConfig node_config(const ConfigReader& all, std::uint32_t n_own_doms) {
    NodeConfig config;
    config.page = bindings::page_identity(all);
    SourceConfig run;
    bindings::take(all.below("run"), run_keys, run);
    config.n_slices = run.n_slices;
    config.backend = bindings::backend_config(all.below("receive"), receive::ports_keys);
    config.line = line_config(all);
    bindings::take(all.below("slices"), slices_keys, config.build);
    config.build.store.has_trailers = config.line.long_header;
    const receive::BufferRules rules = bindings::buffer_rules(all.below("receive"));
    config.build.waits = rules.policy == receive::FullPolicy::wait;
    config.build.store.memory = rules.memory;
    config.build.sources = bindings::sources_config(all.below("receive"), n_own_doms);
    bindings::take(all.below("coincidences"), coincidences_keys, config.decisions.trigger);
    bindings::take(all.below("store"), store_keys, config.decisions.store);
    config.decisions.store.detector = config.line.detector_id;
    bindings::take_threads(all.below("threads"), threads_keys, chain, config);
    return config;
}

/// Sets the input before the exchange and, when the configuration asks for slices, the output after it.
void take_ends(const nb::dict& dict, pipeline::ExchangeNodeConfig& config) {
    const ConfigReader values(dict);
    const ConfigReader chain(values.get<nb::dict>("feed"));
    SourceConfig boards;
    bindings::take(chain.below("boards"), boards_keys, boards);
    const FarmConfig farm{.node = node_config(chain, values.get<std::uint32_t>("n_boards")),
                          .first_slice = boards.first_slice};
    config.exchange.waits_for_data = true;
    config.max_mfp_bytes = max_mfp_bytes(farm, config.exchange.farm.readouts.size(), config.exchange.packing);
    config.make_input = make_input(farm);
    if (values.get<std::string>("to") == "slices") config.make_output = make_output(farm);
}

SourceConfig source_config(const ConfigReader& all) {
    SourceConfig config;
    config.line = line_config(all);
    config.simulation.seed = bindings::seed_config(all.below("run"));
    bindings::take(all.below("run"), run_keys, config);
    bindings::take(all.below("boards"), boards_keys, config);
    bindings::take(all.below("boards.faults"), faults_keys, config.faults);
    config.validate();
    return config;
}

using ByPmt = std::vector<std::array<std::uint64_t, n_pmts>>;

nb::object table_of(const ByPmt& rows) {
    std::vector<std::uint64_t> flat;
    for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
    return bindings::to_numpy(std::move(flat), rows.size(), n_pmts);
}

class NodeHandle final : public bindings::NodeHandle<Node> {
  public:
    explicit NodeHandle(const nb::dict& values)
        : bindings::NodeHandle<Node>(std::make_shared<Node>(
              node_config(ConfigReader(values), ConfigReader(values).get<std::uint32_t>("line.doms")))) {}
    ~NodeHandle() { stop(); }

    nb::dict sequences() {
        need_stopped("sequences");
        nb::dict by_dom;
        for (std::uint32_t dom = 0; dom < node_->doms().size(); ++dom) {
            nb::dict one;
            one["expected"] = bindings::lists_of(node_->log(dom).seen);
            one["missing"] = nb::list();
            one["unused"] = bindings::lists_of(node_->log(dom).unused);
            one["not_listed"] = node_->log(dom).seen.n_not_listed() + node_->log(dom).unused.n_not_listed();
            by_dom[nb::int_(dom)] = one;
        }
        return by_dom;
    }

    /// Counts by PMT and by pair of PMTs, with the pairs' cosines and the DOMs' heights.
    nb::dict rates() {
        need_stopped("rates");
        const SliceTrigger& trigger = node_->trigger();
        nb::dict rates;
        rates["hits"] = table_of(trigger.hits_by_pmt());
        rates["pairs"] = table_of(ByPmt(trigger.pairs().begin(), trigger.pairs().end()));
        std::vector<double> cosines, heights_m;
        for (std::uint32_t i = 0; i < n_pmts; ++i)
            for (std::uint32_t k = 0; k < n_pmts; ++k) cosines.push_back(cos_between(i, k));
        for (const Dom& dom : node_->doms()) heights_m.push_back(dom.position_m.z);
        rates["pair_cos"] = bindings::to_numpy(std::move(cosines), n_pmts, n_pmts);
        rates["height_m"] = bindings::to_numpy(std::move(heights_m));
        return rates;
    }

    nb::list events() {
        nb::list events;
        for (const auto sample = std::make_unique<EventSample>(); node_->trigger().try_take(*sample);)
            events.append(as_dict(*sample));
        return events;
    }

  private:
    void need_stopped(const std::string& what) const {
        if (node_->running()) throw std::runtime_error(what + ": stop the node first");
    }

    static nb::dict as_dict(const EventSample& sample) {
        const auto first = [&](const auto& values) {
            return std::vector(values.begin(), values.begin() + sample.n_hits);
        };
        nb::dict event;
        event["slice"] = sample.slice;
        event["time_ns"] = static_cast<double>(sample.span.begin) / PackedHit::units_per_ns;
        event["n_l1"] = sample.span.n_hits;
        event["n_doms"] = sample.span.n_doms;
        event["mask"] = sample.span.mask;
        event["dom"] = bindings::to_numpy(first(sample.dom));
        event["channel"] = bindings::to_numpy(first(sample.channel));
        event["tot_ns"] = bindings::to_numpy(first(sample.tot_ns));
        event["is_l1"] = bindings::to_numpy(first(sample.is_l1));
        event["hit_time_ns"] = bindings::to_numpy(first(sample.time_ns));
        return event;
    }
};

class SourceHandle final : public bindings::ReadySourceHandle<Source> {
  public:
    explicit SourceHandle(const nb::dict& values)
        : bindings::ReadySourceHandle<Source>(values, source_config(ConfigReader(values))) {}
};

void bind(nb::module_& module) {
    bindings::bind_handle<NodeHandle>(module, "Node")
        .def("sequences", &NodeHandle::sequences)
        .def("rates", &NodeHandle::rates)
        .def("events", &NodeHandle::events);
    bindings::bind_source_handle<SourceHandle>(module, "Source");
    static const simulate::ChainsOf<VirtualLine> chains;
    bindings::bind_virtual_chains(module, chains);
}

const bindings::ExchangeEnds ends("km3net", take_ends);
const bindings::Extension extension(
    "km3net", bind,
    {bindings::table<DomCounter>("km3net::DomCounter", "build.board<i>"),
     bindings::table<SliceCounter>("km3net::SliceCounter", "build"),
     bindings::table<TriggerCounter>("km3net::TriggerCounter", "trigger"),
     bindings::table<MessageCounter>("km3net::MessageCounter", "store"),
     bindings::table<SlicePackCounter>("km3net::SlicePackCounter", "slice_pack"),
     bindings::table<SliceUnpackCounter>("km3net::SliceUnpackCounter", "slice_unpack")},
    {bindings::table("Km3netLineKeys", line_keys), bindings::table("Km3netRunKeys", run_keys),
     bindings::table("Km3netBoardsKeys", boards_keys), bindings::table("Km3netFaultsKeys", faults_keys),
     bindings::table("Km3netSlicesKeys", slices_keys), bindings::table("Km3netCoincidencesKeys", coincidences_keys),
     bindings::table("Km3netStoreKeys", store_keys), bindings::table("Km3netThreadsKeys", threads_keys)},
    packet_formats());

}  // namespace
}  // namespace anello::km3net
