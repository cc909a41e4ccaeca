// SPDX-License-Identifier: Apache-2.0
// anello_plan: one simulation of an exchange. Configuration on standard input, JSON lines on standard output:
// {"progress": share} now and then, at the end {"result": ...} or {"error": ...}.
#include <fmt/format.h>

#include <iostream>
#include <string>

#include "core/errors.hpp"
#include "exchange_model.hpp"
#include "measurement.hpp"
#include "network.hpp"
#include "plan_config.hpp"

namespace {

constexpr int exit_failed = 1, exit_usage = 2;

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return result + '"';
}

/// SimGrid's own network models are those of TCP on wide areas; what is left is fair sharing of links.
void choose_models(const anello::plan::PlanConfig& config) {
    using simgrid::s4u::Engine;
    Engine::set_config("network/model:CM02");
    Engine::set_config("network/TCP-gamma:0");
    Engine::set_config("network/crosstraffic:0");
    Engine::set_config("contexts/stack-size:64");
    if (config.grain_ns > 0) Engine::set_config(fmt::format("surf/precision:{:g}", config.grain_ns * 1e-9));
}

int simulate(int argc, char** argv) {
    auto config = anello::plan::read_config(std::cin);
    config.n_meps = (config.n_meps + config.n_nodes - 1) / config.n_nodes * config.n_nodes;
    simgrid::s4u::Engine engine(&argc, argv);
    choose_models(config);
    anello::plan::Network network(config);
    anello::plan::Measurement measurement(config, network);
    anello::plan::ExchangeModel model(config, network, measurement);
    model.start();
    engine.run();
    fmt::print("{{\"result\": {}}}\n", measurement.as_json());
    return measurement.complete() ? 0 : exit_failed;
}

}  // namespace

int main(int argc, char** argv) {
    std::string quiet = "--log=root.thresh:critical";
    std::string name = argc > 0 ? argv[0] : "anello_plan";
    char* arguments[] = {name.data(), quiet.data(), nullptr};
    try {
        return simulate(2, arguments);
    } catch (const anello::ConfigError& error) {
        fmt::print("{{\"error\": {{\"field\": {}, \"rule\": {}, \"given\": {}, \"remedy\": {}}}}}\n",
                   quoted(error.field()), quoted(error.rule()), quoted(error.given()), quoted(error.remedy()));
        return exit_usage;
    } catch (const std::exception& error) {
        fmt::print(stderr, "anello_plan: {}\n", error.what());
        return exit_failed;
    }
}
