// SPDX-License-Identifier: Apache-2.0
#include "plan_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <variant>

#include "core/errors.hpp"

namespace anello::plan {
namespace {

constexpr std::array<const char*, 3> routing_names{"destination", "hashed", "spread"};
constexpr std::uint64_t max_messages = 200'000'000;  // beyond it a simulation takes hours

Routing parse_routing(const std::string& text) {
    for (std::size_t i = 0; i < routing_names.size(); ++i)
        if (text == routing_names.at(i)) return static_cast<Routing>(i);
    throw ConfigError("routing", "must be destination, hashed or spread", text, "Choose one of these");
}

template <class Number>
void read_number(const std::string& key, const std::string& text, Number& value) {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || rest != end) throw ConfigError(key, "must be a number", text, "Mend it");
}

void check(bool holds, const char* field, const char* rule, double given, const char* remedy) {
    if (!holds) throw ConfigError(field, rule, fmt::format("{:g}", given), remedy);
}

void check_range(const char* field, double value, double least, double most) {
    const std::string rule = fmt::format("must be {:g} to {:g}", least, most);
    check(value >= least && value <= most, field, rule.c_str(), value, "Choose a value within");
}

using Member = std::variant<std::uint32_t PlanConfig::*, std::uint64_t PlanConfig::*, double PlanConfig::*>;
struct Key {
    const char* name;
    Member member;
};
constexpr std::array keys{
    Key{"n_nodes", &PlanConfig::n_nodes},
    Key{"n_meps", &PlanConfig::n_meps},
    Key{"message_bytes", &PlanConfig::message_bytes},
    Key{"mep_interval_ns", &PlanConfig::mep_interval_ns},
    Key{"n_credits", &PlanConfig::n_credits},
    Key{"n_buffers", &PlanConfig::n_buffers},
    Key{"n_sends", &PlanConfig::n_sends},
    Key{"per_message_ns", &PlanConfig::per_message_ns},
    Key{"per_byte_ns", &PlanConfig::per_byte_ns},
    Key{"per_control_ns", &PlanConfig::per_control_ns},
    Key{"n_threads", &PlanConfig::n_threads},
    Key{"n_cores", &PlanConfig::n_cores},
    Key{"jitter_ns", &PlanConfig::jitter_ns},
    Key{"memory_rate", &PlanConfig::memory_rate},
    Key{"link_rate", &PlanConfig::link_rate},
    Key{"uplink_rate", &PlanConfig::uplink_rate},
    Key{"latency_ns", &PlanConfig::latency_ns},
    Key{"nodes_per_leaf", &PlanConfig::nodes_per_leaf},
    Key{"n_spines", &PlanConfig::n_spines},
    Key{"n_failed_links", &PlanConfig::n_failed_links},
    Key{"seed", &PlanConfig::seed},
    Key{"grain_ns", &PlanConfig::grain_ns},
};

void set(PlanConfig& config, const std::string& key, const std::string& text) {
    if (key == "protocol") {
        config.protocol = exchange::parse_protocol(text);
    } else if (key == "routing") {
        config.routing = parse_routing(text);
    } else {
        const auto* found = std::find_if(keys.begin(), keys.end(), [&](const Key& one) { return key == one.name; });
        if (found == keys.end()) throw ConfigError(key, "is no key of a plan", text, "Leave it out");
        std::visit([&](auto member) { read_number(key, text, config.*member); }, found->member);
    }
}

}  // namespace

double PlanConfig::processor_ns() const {
    const double request_ns = protocol == exchange::Protocol::pull ? per_control_ns : 0;
    return per_message_ns + per_byte_ns * message_bytes + request_ns;
}

void PlanConfig::validate() const {
    check_range("n_nodes", n_nodes, 2, 1024);
    check_range("n_meps", n_meps, 1, 1e7);
    const std::uint64_t n_messages = std::uint64_t{n_meps} * n_nodes;
    check(n_messages <= max_messages, "n_meps", "x n_nodes must not be above 2e8", n_meps, "Simulate less");
    check_range("message_bytes", message_bytes, 64, 1e9);
    check_range("mep_interval_ns", mep_interval_ns, 0, 1e12);
    check_range("n_credits", n_credits, 1, 100'000);
    check_range("n_buffers", n_buffers, 1, 1'000'000);
    const bool holds_round = protocol != exchange::Protocol::shift || n_buffers >= n_nodes;
    check(holds_round, "n_buffers", "must not be below the number of nodes where the protocol is shift", n_buffers,
          "A readout unit begins its round anywhere, so it must hold a whole one");
    check_range("n_sends", n_sends, 1, 1024);
    check_range("per_message_ns", per_message_ns, 0, 1e9);
    check_range("per_byte_ns", per_byte_ns, 0, 1e6);
    check_range("per_control_ns", per_control_ns, 0, 1e9);
    check_range("n_threads", n_threads, 1, 2);
    check_range("n_cores", n_cores, 0, 1e6);
    check_range("jitter_ns", jitter_ns, 0, 1e9);
    check_range("memory_rate", memory_rate, 1e-3, 1e6);
    check_range("link_rate", link_rate, 0, 1e5);
    check_range("uplink_rate", uplink_rate, 1e-3, 1e5);
    check_range("latency_ns", latency_ns, 1, 1e9);
    check_range("nodes_per_leaf", nodes_per_leaf, 1, 1024);
    check_range("n_spines", n_spines, 1, 1024);
    check_range("n_failed_links", n_failed_links, 0, double(n_leaves()) * n_spines - 1);
    check_range("grain_ns", grain_ns, 0, 1e9);
}

PlanConfig read_config(std::istream& input) {
    PlanConfig config;
    for (std::string line; std::getline(input, line);) {
        const auto equals = line.find('=');
        if (equals == std::string::npos) throw ConfigError("input", "must be lines key=value", line, "Mend the line");
        set(config, line.substr(0, equals), line.substr(equals + 1));
    }
    config.validate();
    return config;
}

}  // namespace anello::plan
