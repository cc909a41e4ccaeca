// SPDX-License-Identifier: Apache-2.0
// Every file of a fuzz target's committed corpus through that target, by the compiler of the release: what fuzzers once
// found is tried by every build of the tests, which needs neither clang nor chance.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#define ANELLO_TARGET(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz_targets.inc"
#undef ANELLO_TARGET

/// Targets' own mutators name libFuzzer's, and are not called here.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t, std::size_t) {
    std::abort();
}

namespace {

struct Target {
    std::string_view name;
    int (*run)(const std::uint8_t*, std::size_t);
};

constexpr Target targets[] = {
#define ANELLO_TARGET(name) {#name, fuzz_##name},
#include "fuzz_targets.inc"
};

std::vector<char> bytes_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int n_arguments, char** arguments) {
    if (n_arguments != 3) {
        std::fprintf(stderr, "usage: test_corpora TARGET FOLDER\n");
        return 2;
    }
    const std::string_view name = arguments[1];
    const Target* const target = std::ranges::find(targets, name, &Target::name);
    if (target == std::end(targets)) {
        std::fprintf(stderr, "test_corpora: there is no fuzz target %s\n", arguments[1]);
        return 2;
    }
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(arguments[2])) files.push_back(entry.path());
    std::ranges::sort(files);
    for (const auto& file : files) {  // a target that finds something aborts: the last name is the file's
        std::printf("%s\n", file.c_str());
        std::fflush(stdout);
        const std::vector<char> bytes = bytes_of(file);
        target->run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    return files.empty() ? 1 : 0;
}
