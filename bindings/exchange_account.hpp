// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include "exchange/node_account.hpp"

namespace anello::bindings {

namespace nb = nanobind;

/// In the form that anello.exchange.account.numbers.Account.of() takes.
inline nb::dict dict_of(const exchange::NodeAccount& account) {
    nb::dict result;
    result["life"] = account.life;
    result["sent_to"] = nb::cast(account.sent_to);
    result["come_from"] = nb::cast(account.come_from);
    result["handed_on"] = nb::cast(account.handed_on);
    nb::list builders;
    for (const auto& [reported, is_lost, open_meps] : account.builders)
        builders.append(nb::make_tuple(reported.node, reported.life, reported.n_complete, reported.n_incomplete,
                                       is_lost, nb::cast(open_meps)));
    result["builders"] = builders;
    return result;
}

}  // namespace anello::bindings
