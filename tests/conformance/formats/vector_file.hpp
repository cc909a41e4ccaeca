// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace anello::wire {

/// A test vector: the bytes of one datagram and what they say, line by line. Its text form is in
/// tests/vectors/README.md.
struct VectorFile {
    std::vector<std::byte> bytes;
    std::vector<std::string> content;

    /// Throws when there is no such file or its hexadecimal is broken.
    static VectorFile read(const std::string& name);
    void write(const std::string& path, const std::string& title) const;
};

}  // namespace anello::wire
