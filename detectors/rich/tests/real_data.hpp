// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

/// Real data lie outside the project; tests that need them skip where they are absent.
namespace anello::test {

inline std::filesystem::path real_data(const std::string& file) {
    if (const char* folder = std::getenv("ANELLO_DATA")) return std::filesystem::path(folder) / file;
    return std::filesystem::path(ANELLO_SOURCE_DIR) / ".." / "shared" / "data" / file;
}

/// Rows of a CSV file without its heading, as numbers.
inline std::vector<std::vector<double>> read_csv(const std::filesystem::path& path) {
    std::vector<std::vector<double>> rows;
    std::ifstream file(path);
    std::string line, field;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        auto& row = rows.emplace_back();
        while (std::getline(fields, field, ',')) row.push_back(std::stod(field));
    }
    return rows;
}

}  // namespace anello::test
