// SPDX-License-Identifier: Apache-2.0
#include "exchange/node_account.hpp"

#include <cstddef>

namespace anello::exchange {

NodeAccount account_of(const Station& station) {
    const Farm& farm = station.farm();
    NodeAccount account;
    account.life = station.life();
    if (const ReadoutUnit* readout = station.readout())
        for (std::uint16_t unit = 0; unit < farm.builders.size(); ++unit) {
            const Node node = farm.builders[unit];
            account.sent_to[node] = {readout->n_numbered(unit), readout->is_live(unit) ? 1U : 0U,
                                     readout->n_in_flight(unit), station.links()[node].sent_life};
        }
    if (const BuilderUnit* builder = station.builder()) {
        for (std::uint16_t unit = 0; unit < farm.readouts.size(); ++unit) {
            const Arrivals& arrivals = builder->senders().arrivals(unit);
            const Node node = farm.readouts[unit];
            account.come_from[node] = {arrivals.newest(), arrivals.n_come(), arrivals.n_given_up(),
                                       builder->senders().is_up(unit) ? 1U : 0U, station.links()[node].received_life};
        }
        for (const auto& last : builder->output().handed_on())
            if (last.is_known) account.handed_on[last.mep] = last.n_missing;
    }
    const EventManager* manager = station.manager();
    if (manager != nullptr && manager->is_in_charge()) {
        for (std::uint16_t builder = 0; builder < farm.builders.size(); ++builder)
            account.builders.push_back({manager->account_of(builder), false, manager->open_meps(builder)});
        for (const auto& lost : manager->lost_builders()) {
            const auto first = manager->lost_meps().begin() + static_cast<std::ptrdiff_t>(lost.first_mep);
            account.builders.push_back({lost.account, true, {first, first + static_cast<std::ptrdiff_t>(lost.n_meps)}});
        }
    }
    return account;
}

}  // namespace anello::exchange
