// SPDX-License-Identifier: Apache-2.0
#include "pipeline/layout.hpp"

#include <fmt/format.h>

#include <sstream>

#include "core/errors.hpp"

namespace anello::pipeline {
namespace {

std::string names_of(std::span<const std::string_view> chain) {
    std::string names;
    for (const std::string_view stage : chain) names += fmt::format("{}{}", names.empty() ? "" : ", ", stage);
    return names;
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> words;
    std::istringstream stream(text + "+");  // so that an empty word at the end is found, too
    for (std::string word; std::getline(stream, word, '+');) {
        const auto first = word.find_first_not_of(' '), last = word.find_last_not_of(' ');
        words.push_back(first == std::string::npos ? "" : word.substr(first, last - first + 1));
    }
    return words;
}

}  // namespace

std::vector<ThreadPlan> parse_layout(const std::vector<std::string>& layout, const std::vector<int>& cores,
                                     std::span<const std::string_view> chain) {
    std::vector<ThreadPlan> threads;
    std::size_t next = 0;
    for (const std::string& entry : layout) {
        ThreadPlan thread{.name = entry, .stages = {}};
        for (std::size_t i = threads.size(); i < cores.size(); i += layout.size()) thread.cores.push_back(cores[i]);
        for (const std::string& word : split(entry)) {
            if (next == chain.size() || word != chain[next])
                throw ConfigError("threads.layout",
                                  fmt::format("must name {}, each once and in this order", names_of(chain)), entry,
                                  "Join stages that share a thread with +.");
            thread.stages.emplace_back(chain[next++]);
        }
        threads.push_back(std::move(thread));
    }
    if (next != chain.size())
        throw ConfigError("threads.layout", "must name every stage", fmt::format("no {}", chain[next]),
                          fmt::format("The stages are {}.", names_of(chain)));
    return threads;
}

}  // namespace anello::pipeline
