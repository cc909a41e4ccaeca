// SPDX-License-Identifier: Apache-2.0
#include "seed.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "effort.hpp"

namespace anello::test {
namespace {

/// False where the text is no whole number above 0.
bool read_seed(std::string_view text, std::uint64_t& seed) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    return error == std::errc{} && end == text.data() + text.size() && seed > 0;
}

class TellsTheSeed final : public testing::EmptyTestEventListener {
    void OnTestEnd(const testing::TestInfo& test) override {
        if (test.result()->Failed())
            std::printf("again: ANELLO_SEED=%s --gtest_filter=%s.%s\n", std::to_string(seed()).c_str(),
                        test.test_suite_name(), test.name());
    }
};

/// Before main(): RapidCheck reads its variable when the first property is tried.
const bool is_seeded = [] {
    const char* const given = std::getenv("RC_PARAMS");
    std::string parameters = given == nullptr ? "" : given;
    if (parameters.find("seed=") == std::string::npos) parameters += " seed=" + std::to_string(seed());
    const bool is_short = is_sanitized && !is_long();  // 100 times without
    if (is_short && parameters.find("max_success=") == std::string::npos) parameters += " max_success=25";
    setenv("RC_PARAMS", parameters.c_str(), 1);
    testing::UnitTest::GetInstance()->listeners().Append(new TellsTheSeed);
    return true;
}();

}  // namespace

std::uint64_t seed() {
    static const std::uint64_t chosen = [] {
        const char* const given = std::getenv("ANELLO_SEED");
        std::uint64_t seed = 1;
        if (given != nullptr && !read_seed(given, seed)) {
            std::fprintf(stderr, "ANELLO_SEED must be a whole number above 0, and is '%s'\n", given);
            std::_Exit(2);
        }
        return seed;
    }();
    return chosen;
}

std::vector<FoundSeed> found_seeds(const std::string& kind) {
    const std::string path = std::string(ANELLO_SOURCE_DIR "/tests/cases/") + kind + ".txt";
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::vector<FoundSeed> found;
    for (std::string line; std::getline(file, line);) {
        const std::size_t number_end = line.find_first_of(" \t#");
        const std::string number = line.substr(0, number_end);
        const std::size_t comment = line.find('#');
        if (number.empty() && (comment != std::string::npos || line.find_first_not_of(" \t") == std::string::npos))
            continue;
        FoundSeed one{};
        if (!read_seed(number, one.seed) || (comment == std::string::npos && number_end != std::string::npos))
            throw std::runtime_error(path + ": not 'SEED  # what it found': " + line);
        if (comment != std::string::npos) one.what = line.substr(line.find_first_not_of("# \t", comment));
        found.push_back(std::move(one));
    }
    return found;
}

}  // namespace anello::test
