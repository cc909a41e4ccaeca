// SPDX-License-Identifier: Apache-2.0
#include "vector_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace anello::wire {

VectorFile VectorFile::read(const std::string& name) {
    const std::string path = std::string(ANELLO_TEST_VECTORS) + "/" + name;
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    VectorFile vector;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#')) continue;
        if (line.starts_with("> ")) {
            vector.content.push_back(line.substr(2));
            continue;
        }
        std::istringstream words(line);
        for (std::string word; words >> word;) {
            if (word.size() != 2) throw std::runtime_error(path + ": not a byte: " + word);
            vector.bytes.push_back(static_cast<std::byte>(std::stoi(word, nullptr, 16)));
        }
    }
    return vector;
}

void VectorFile::write(const std::string& path, const std::string& title) const {
    std::ofstream file(path);
    file << "# " << title << "\n";
    for (const std::string& line : content) file << "> " << line << "\n";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const bool ends_line = i % 16 == 15 || i + 1 == bytes.size();
        file << fmt::format("{:02x}{}", static_cast<unsigned>(bytes[i]), ends_line ? '\n' : ' ');
    }
}

}  // namespace anello::wire
