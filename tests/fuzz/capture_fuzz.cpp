// SPDX-License-Identifier: Apache-2.0
// Capture files of others, pcap and pcapng: read to their end or refused with a reason, and again after rewinding.
// Built from: engine/receive/frames/capture_file.cpp engine/receive/frames/ethernet_frame.cpp
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "core/errors.hpp"
#include "core/kernel_handle.hpp"
#include "receive/frames/capture_file.hpp"
#include "receive/frames/ethernet_frame.hpp"

using namespace anello;
using namespace anello::receive;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

struct Read {
    std::uint64_t n_frames = 0, n_bytes = 0, n_datagrams = 0;
    bool operator==(const Read&) const = default;
};

Read read_all(CaptureFile& file) {
    Read read;
    for (CapturedFrame frame; file.next(frame); ++read.n_frames) {
        require(frame.captured.size() <= frame.frame_bytes);
        read.n_bytes += frame.captured.size();
        UdpFrame udp{};
        if (parse_frame(frame.captured, frame.frame_bytes, udp) == FrameVerdict::udp) ++read.n_datagrams;
    }
    require(file.at_end() || !file.read_error().empty());
    return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Descriptor memory(memfd_create("capture", MFD_CLOEXEC));
    require(memory.number() >= 0 && write(memory.number(), data, size) == static_cast<ssize_t>(size));
    try {
        CaptureFile file("/proc/self/fd/" + std::to_string(memory.number()));
        const Read once = read_all(file);
        file.rewind();
        require(read_all(file) == once);
    } catch (const ConfigError&) {  // refused with a reason
    }
    return 0;
}
