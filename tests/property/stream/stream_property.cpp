// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "unit/stream/shared_pair.hpp"

/// Any split of sends and receives, partial commits and partial releases: the bytes that come out are those that went
/// in, in order, and both sides' counts agree. Rapidcheck prints the seed of a failing case.
namespace anello::stream::stream_property {
namespace {

using enum StreamStatus;

/// The stream's bytes, again and again from the start; of a length that no ring's size divides.
const std::vector<std::byte>& pattern() {
    static const std::vector<std::byte> bytes = [] {
        std::mt19937 random(3);
        return test::random_bytes(random, 500'009);
    }();
    return bytes;
}
std::vector<std::byte> bytes_from(std::uint64_t index, std::size_t n_bytes) {
    std::vector<std::byte> bytes;
    bytes.reserve(n_bytes);
    while (bytes.size() < n_bytes) {
        const auto begin = pattern().begin() + static_cast<std::ptrdiff_t>((index + bytes.size()) % pattern().size());
        const auto n_left = static_cast<std::size_t>(pattern().end() - begin);
        bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(std::min(n_left, n_bytes - bytes.size())));
    }
    return bytes;
}

class Play {
  public:
    void send(std::size_t n_bytes) {
        const std::vector<std::byte> bytes = next(n_bytes);
        n_sent_ += pair_.near->try_send(bytes).n_bytes;
    }
    void send_parts(std::size_t n_bytes) {
        const std::vector<std::byte> bytes = next(n_bytes);
        const ConstBytes all(bytes);
        const std::array parts{all.first(n_bytes / 3), all.subspan(n_bytes / 3)};
        n_sent_ += pair_.near->send(parts, 0).n_bytes;
    }
    void reserve(std::size_t n_bytes) {
        Bytes room;
        if (pair_.near->reserve(n_bytes, room, 0) != ok) return;
        const std::vector<std::byte> bytes = next(n_bytes);
        std::copy(bytes.begin(), bytes.end(), room.begin());
        pair_.near->commit(n_bytes / 2);
        n_sent_ += n_bytes / 2;
    }
    void receive(std::size_t n_bytes) {
        std::vector<std::byte> room(n_bytes);
        check(ConstBytes(room).first(pair_.far->try_recv(room).n_bytes));
    }
    void peek(std::size_t n_bytes) {
        ConstBytes found;
        pair_.far->peek(found, 1, 0);
        const std::size_t n_taken = std::min(n_bytes, found.size());
        check(found.first(n_taken));
        pair_.far->release(n_taken);
    }
    void end() {
        pair_.near->finish();
        for (StreamStatus status = ok; status == ok;) {
            std::vector<std::byte> room(10'000);
            const Transfer got = pair_.far->try_recv(room);
            check(ConstBytes(room).first(got.n_bytes));
            status = got.status;
        }
        RC_ASSERT(n_received_ == n_sent_);
        RC_ASSERT(pair_.near_counters[StreamCounter::bytes_sent] == n_sent_);
        RC_ASSERT(pair_.far_counters[StreamCounter::bytes_received] == n_received_);
    }

  private:
    std::vector<std::byte> next(std::size_t n_bytes) const { return bytes_from(n_sent_, n_bytes); }
    void check(ConstBytes bytes) {
        const std::vector<std::byte> expected = bytes_from(n_received_, bytes.size());
        RC_ASSERT(std::equal(bytes.begin(), bytes.end(), expected.begin()));
        n_received_ += bytes.size();
    }

    test::SharedPair pair_;
    std::uint64_t n_sent_ = 0, n_received_ = 0;
};

RC_GTEST_PROP(StreamProperty, BytesOutAreBytesInUnderAnySplit, ()) {
    Play play;
    const auto n_steps = *rc::gen::inRange(1, 60);
    for (int step = 0; step < n_steps; ++step) {
        const auto n_bytes =
            *rc::gen::element<std::size_t>(0, 1, 7, 64, 4095, 4096, 4097, 20'000, 65'535, 65'536, 70'000);
        switch (*rc::gen::inRange(0, 5)) {
            case 0:
                play.send(n_bytes);
                break;
            case 1:
                play.send_parts(n_bytes);
                break;
            case 2:
                play.reserve(n_bytes);
                break;
            case 3:
                play.receive(n_bytes);
                break;
            default:
                play.peek(n_bytes);
        }
    }
    play.end();
}

RC_GTEST_PROP(StreamProperty, MessagesOutAreMessagesIn, ()) {
    test::SharedPair pair;
    const auto lengths = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 30'000));
    const std::vector<std::byte> sent = bytes_from(0, 30'000);
    std::size_t n_sent = 0, n_received = 0;
    while (n_received < lengths.size()) {
        const bool more = n_sent < lengths.size();
        if (more && pair.near->send_message(ConstBytes(sent).first(lengths[n_sent]), 0) == ok) {
            ++n_sent;
            continue;
        }
        ConstBytes message;
        RC_ASSERT(pair.far->peek_message(message, 0) == ok);
        RC_ASSERT(message.size() == lengths[n_received]);
        RC_ASSERT(std::equal(message.begin(), message.end(), sent.begin()));
        pair.far->release_message();
        ++n_received;
    }
}

}  // namespace
}  // namespace anello::stream::stream_property
