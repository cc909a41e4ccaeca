// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/deadline.hpp"

#include <array>

namespace anello::rich {
namespace {

namespace deadline_table {

using C = DeadlineConfig;
using K = Key<C>;

constexpr std::array keys{
    K::of<&C::deadline_ns, ns_per_us>("deadline_us", {0, 1e6},
                                      "What is decided later counts as late, us; 0: no deadline."),
    K::of<&C::cheaper_after>("cheaper_after", {0, 1},
                             "Events older than this share of the deadline are decided by the finder `single`."),
    K::of<&C::pass_after>("pass_after", {0, 1},
                          "Events older than this share of it pass without a look, with pass_primitive."),
    K::of<&C::pass_primitive>("pass_primitive", {0, 0xffff}, "Primitive of events that pass without a look; 0: none."),
};

}  // namespace deadline_table

}  // namespace

constinit const Keys<DeadlineConfig> deadline_keys{"trigger", "Events into rings, rings into decisions.",
                                                   deadline_table::keys};

void DeadlineConfig::validate() const {
    deadline_keys.check(*this);
    if (pass_after < cheaper_after)
        throw ConfigError("trigger.pass_after", "must not be below cheaper_after", std::to_string(pass_after),
                          "The defaults are 0.5 and 0.75.");
    check_primitive("trigger.pass_primitive", pass_primitive, "384.");
}

void check_primitive(const std::string& key, std::uint16_t id, const std::string& by_default) {
    if (id != 0 && id < 0x100)
        throw ConfigError(key, "must be 0 or from 0x100 (256) on: a word without high byte would read as a timestamp",
                          std::to_string(id), "The default is " + by_default);
}

}  // namespace anello::rich
