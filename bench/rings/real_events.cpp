// SPDX-License-Identifier: Apache-2.0
#include "rings/real_events.hpp"

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace rings {
namespace {

std::vector<std::vector<std::string>> read_csv(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::vector<std::vector<std::string>> rows;
    std::string line, cell;
    std::getline(file, line);  // the header
    while (std::getline(file, line)) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        std::istringstream cells(line);
        rows.emplace_back();
        while (std::getline(cells, cell, ',')) rows.back().push_back(cell);
    }
    return rows;
}

/// An empty cell (no ring was fitted) is NaN: no found ring agrees with it.
float number(const std::vector<std::string>& row, std::size_t column) {
    return column < row.size() && !row[column].empty() ? std::stof(row[column]) : std::nanf("");
}

}  // namespace

Sample read_events(const std::string& hits_path, const std::string& rings_path, bool in_time_only) {
    std::map<int, std::vector<std::pair<float, float>>> hits;
    for (const auto& row : read_csv(hits_path))
        if (!in_time_only || row.at(5) == "1")
            hits[std::stoi(row.at(0))].emplace_back(std::stof(row.at(3)), std::stof(row.at(4)));
    Sample sample;
    for (const auto& row : read_csv(rings_path)) {
        for (const auto& [x_mm, y_mm] : hits[std::stoi(row.at(0))]) {
            sample.x_mm.push_back(x_mm);
            sample.y_mm.push_back(y_mm);
            sample.label.push_back(-1);
        }
        sample.ring.push_back({number(row, 2), number(row, 3), number(row, 4), 99});
        sample.hit_offset.push_back(static_cast<std::uint32_t>(sample.x_mm.size()));
        sample.ring_offset.push_back(static_cast<std::uint32_t>(sample.ring.size()));
    }
    return sample;
}

}  // namespace rings
