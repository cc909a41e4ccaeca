// SPDX-License-Identifier: Apache-2.0
// What the other side of a stream may say: hellos and words of a stream over a network, and indices and frames in the
// ring. Nothing outside the ring is read, and after a word that cannot be nothing is given any more.
// Built from: engine/stream/receiver.cpp engine/stream/stream_config.cpp
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "core/counters/counters.hpp"
#include "stream/fabric_wire.hpp"
#include "stream/receiver.hpp"

using namespace anello;
using namespace anello::stream;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

template <typename T>
T take(std::span<const std::byte>& input) {
    T value{};
    const std::size_t n_bytes = std::min(sizeof value, input.size());
    if (n_bytes > 0) std::memcpy(&value, input.data(), n_bytes);
    input = input.subspan(n_bytes);
    return value;
}

/// A ring of 256 bytes, twice in a row, in a heap block of its exact size, so that any read beyond shows.
class Ring final : public ReceiveEnd {
  public:
    static constexpr std::size_t n_bytes = 256;
    explicit Ring(std::span<const std::byte> content) {
        for (std::size_t i = 0; i < 2 * n_bytes && !content.empty(); ++i)
            bytes_[i] = content[i % n_bytes % content.size()];
    }
    std::byte* bytes() const noexcept override { return bytes_.get(); }
    std::size_t size_bytes() const noexcept override { return n_bytes; }
    int descriptor() const noexcept override { return -1; }
    void quiet_bell() noexcept override {}
    void take_wish_back() noexcept override {}
    bool peer_alive() noexcept override { return true; }
    void hang_up() noexcept override {}
    std::uint64_t head() noexcept override { return said_head; }
    bool peer_ended() noexcept override { return said_ended; }
    bool release(std::uint64_t tail, std::size_t n_free) noexcept override {
        require(n_free <= n_bytes && tail - taken <= n_bytes);
        taken = tail;
        return false;
    }
    void close() noexcept override {}
    void ask_for_bell() noexcept override {}

    std::uint64_t said_head = 0, taken = 0;
    bool said_ended = false;

  private:
    std::unique_ptr<std::byte[]> bytes_ = std::make_unique<std::byte[]>(2 * n_bytes);
};

void check_wire(std::span<const std::byte> input) {
    const auto hello = take<FabricHello>(input);
    if (well_formed(hello)) require(hello.address_bytes <= largest_blob_bytes && hello.key_bytes <= largest_blob_bytes);
    const auto bits = take<std::uint64_t>(input);
    if (const auto signal = decode_signal(bits)) require(encode(*signal) == bits);
}

void check_ring(std::span<const std::byte> input) {
    static CounterPage page{std::string()};
    static const Counters<StreamCounter> counters = page.add_block<StreamCounter>("stream");
    auto end = std::make_unique<Ring>(input);
    Ring& ring = *end;
    Receiver receiver(std::move(end), StreamConfig(), counters);
    bool corrupt = false;
    while (!input.empty()) {
        const auto step = take<std::uint8_t>(input);
        ring.said_head = step % 4 == 0 ? take<std::uint64_t>(input) : ring.said_head + take<std::uint8_t>(input);
        ring.said_ended |= step >= 240;
        ConstBytes found;
        const StreamStatus status = step & 4 ? receiver.peek_message(found, 0) : receiver.peek(found, step / 8, 0);
        require(!corrupt || (status != StreamStatus::ok && found.empty()));
        corrupt |= status == StreamStatus::corrupt;
        if (!found.empty()) {
            require(found.data() >= ring.bytes() && found.data() + found.size() <= ring.bytes() + 2 * Ring::n_bytes);
            require(found.size() <= Ring::n_bytes);
        }
        if (step & 4)
            receiver.release_message();
        else
            receiver.release(found.size());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::span input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
    data[0] % 4 == 0 ? check_wire(input) : check_ring(input);
    return 0;
}
