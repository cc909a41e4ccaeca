// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "receive/datagrams/source_address.hpp"
#include "wire/bytes.hpp"

namespace anello::receive::test {

inline void put_be16(std::vector<std::byte>& to, std::size_t value) {
    to.push_back(static_cast<std::byte>(value >> 8));
    to.push_back(static_cast<std::byte>(value));
}

/// Source address of each frame below.
constexpr SourceAddress captured_source(0x0a000007, 4444);

struct FrameShape {
    int n_vlan_tags = 0;
    std::uint16_t ether_type = 0x0800;
    std::uint16_t fragment_field = 0;
    std::uint8_t protocol = 17;
    std::size_t n_option_bytes = 0;  ///< of the IP header, a multiple of 4
    std::size_t n_padding_bytes = 0;
};

inline std::vector<std::byte> udp_frame(std::uint16_t port, std::span<const std::byte> payload,
                                        const FrameShape& shape = {}) {
    std::vector<std::byte> frame(12, std::byte{2});
    for (int i = 0; i < shape.n_vlan_tags; ++i) {
        put_be16(frame, i + 1 < shape.n_vlan_tags ? 0x88a8 : 0x8100);
        put_be16(frame, 5);
    }
    put_be16(frame, shape.ether_type);
    frame.push_back(static_cast<std::byte>(0x45 + shape.n_option_bytes / 4));
    frame.push_back(std::byte{0});
    put_be16(frame, 20 + shape.n_option_bytes + 8 + payload.size());
    put_be16(frame, 0);
    put_be16(frame, shape.fragment_field);
    frame.push_back(std::byte{64});
    frame.push_back(std::byte{shape.protocol});
    put_be16(frame, 0);
    put_be16(frame, captured_source.host() >> 16);
    put_be16(frame, captured_source.host() & 0xffff);
    frame.resize(frame.size() + 4 + shape.n_option_bytes);
    put_be16(frame, captured_source.port());
    put_be16(frame, port);
    put_be16(frame, 8 + payload.size());
    put_be16(frame, 0);
    frame.insert(frame.end(), payload.begin(), payload.end());
    frame.resize(frame.size() + shape.n_padding_bytes);
    return frame;
}

/// Writes a capture file (nanosecond pcap) into the folder of temporary files; removes it in the end.
class CaptureWriter {
  public:
    explicit CaptureWriter(std::uint32_t link_type = 1) : path_(unique_path()), file_(path_, std::ios::binary) {
        for (const std::uint32_t word : {0xa1b23c4dU, 0x00040002U, 0U, 0U, 262144U, link_type}) put(word);
    }
    ~CaptureWriter() { std::remove(path_.c_str()); }
    CaptureWriter(const CaptureWriter&) = delete;
    CaptureWriter& operator=(const CaptureWriter&) = delete;

    void add(std::span<const std::byte> frame, std::uint64_t captured_ns = 0, std::size_t n_kept_bytes = SIZE_MAX) {
        const std::size_t n_kept = std::min(frame.size(), n_kept_bytes);
        put(static_cast<std::uint32_t>(captured_ns / 1'000'000'000));
        put(static_cast<std::uint32_t>(captured_ns % 1'000'000'000));
        put(static_cast<std::uint32_t>(n_kept));
        put(static_cast<std::uint32_t>(frame.size()));
        file_.write(reinterpret_cast<const char*>(frame.data()), static_cast<std::streamsize>(n_kept));
    }
    void put(std::uint32_t word) {
        std::byte bytes[4];
        wire::store_le(bytes, word);
        file_.write(reinterpret_cast<const char*>(bytes), sizeof bytes);
    }
    const std::string& finish() {
        file_.flush();
        return path_;
    }

  private:
    static std::string unique_path() {
        static int n_files = 0;
        return testing::TempDir() + "anello_capture_" + std::to_string(getpid()) + "_" + std::to_string(n_files++) +
               ".pcap";
    }

    std::string path_;
    std::ofstream file_;
};

}  // namespace anello::receive::test
