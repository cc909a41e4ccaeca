// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

/// Real data of detectors lie outside the project; what looks alike, under the same names, in tests/lookalikes.
namespace anello::test {

enum class DataKind { real, lookalike };

inline std::filesystem::path detector_folder(DataKind kind) {
    const std::filesystem::path source = ANELLO_SOURCE_DIR;
    if (kind == DataKind::lookalike) return source / "tests" / "lookalikes";
    if (const char* const folder = std::getenv("ANELLO_DATA")) return folder;
    return source / ".." / "shared" / "data";
}

/// A file of detector data. Where it is absent, which the lookalike never is, its tests are skipped.
class DetectorFile : public testing::TestWithParam<DataKind> {
  protected:
    explicit DetectorFile(const char* name) : path_(detector_folder(GetParam()) / name) {}

    void SetUp() override {
        if (GetParam() == DataKind::real && !std::filesystem::exists(path_))
            GTEST_SKIP() << path_ << " is absent; ANELLO_DATA names another folder";
        ASSERT_TRUE(std::filesystem::exists(path_)) << path_;
    }

    const std::filesystem::path& path() const { return path_; }

    std::vector<std::byte> bytes() const {
        std::ifstream file(path_, std::ios::binary);
        const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
        const auto view = std::as_bytes(std::span(text));
        return {view.begin(), view.end()};
    }

    /// The known content of the file.
    template <typename Truth>
    static const Truth& of_this(const Truth& real, const Truth& lookalike) {
        return GetParam() == DataKind::real ? real : lookalike;
    }

  private:
    std::filesystem::path path_;
};

inline const auto both_kinds = testing::Values(DataKind::real, DataKind::lookalike);

inline std::string kind_name(const testing::TestParamInfo<DataKind>& kind) {
    return kind.param == DataKind::real ? "Real" : "Lookalike";
}

}  // namespace anello::test
