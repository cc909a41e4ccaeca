// SPDX-License-Identifier: Apache-2.0
// An L1 file of KM3NeT/km3net-testdata (MIT), and a look-alike: the trigger finds their hits, each in a coincidence,
// again, and writes the same messages, byte for byte.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "km3net/messages/daq_messages.hpp"
#include "km3net/trigger/coincidences.hpp"
#include "lookalikes/detector_file.hpp"
#include "wire/bytes.hpp"

namespace anello::km3net {
namespace {

using Bytes = std::vector<std::byte>;
using wire::load_le;

/// Calls use(hits) for each frame with hits of the file's messages, packed as on the wire.
template <typename Use>
void for_each_frame(std::span<const std::byte> file, Use use) {
    while (file.size() >= 34) {
        const auto message = file.first(load_le<std::uint32_t>(file.data()));
        auto frames = message.subspan(34);
        while (!frames.empty()) {
            const auto frame = frames.first(load_le<std::uint32_t>(frames.data()));
            if (load_le<std::uint32_t>(frame.data() + 52) > 0) use(frame.subspan(56));
            frames = frames.subspan(frame.size());
        }
        file = file.subspan(message.size());
    }
}

Frame one_piece(std::uint32_t n_hits) {
    Frame frame{};
    frame.n_received = frame.n_numbers = frame.n_pieces = 1;
    frame.n_hits = n_hits;
    frame.pieces[0] = {0, 0, n_hits};
    return frame;
}

struct Found {
    std::uint32_t n_hits = 0, n_in_coincidence = 0, n_pairs = 0;
    std::map<std::int64_t, std::uint32_t> n_by_dt_ns;
};

Found find_pairs(const Bytes& file, double window_ns) {
    Found found;
    CalibratedHits calibrated(1000);
    for_each_frame(file, [&](std::span<const std::byte> packed) {
        const auto n_hits = static_cast<std::uint32_t>(packed.size() / clb::hit_bytes);
        ASSERT_EQ(calibrated.fill(one_piece(n_hits), packed, {}), FrameFate::used);
        found.n_hits += n_hits;
        for_each_coincidence(
            calibrated.hits(), static_cast<std::int64_t>(window_ns * PackedHit::units_per_ns),
            [](const Coincidence& one) { return one.n_pmts() > 1; },
            [&](const Coincidence& one) {
                ++found.n_pairs;
                found.n_in_coincidence += static_cast<std::uint32_t>(one.hits.size());
                ++found.n_by_dt_ns[static_cast<std::int64_t>(one.hits.back().time_ns() - one.hits.front().time_ns())];
            });
    });
    return found;
}

struct L1Truth {
    std::uint32_t n_messages;
    std::map<std::int64_t, std::uint32_t> n_by_dt_ns;
    std::uint32_t n_pairs;
};

const L1Truth genuine{10, {{4, 562}, {5, 1850}, {6, 5749}, {7, 839}}, 9'000};
const L1Truth made{3, {{4, 19}, {5, 9}, {6, 14}, {7, 21}}, 63};

class L1File : public test::DetectorFile {
  protected:
    L1File() : DetectorFile("IO_TSL1_1003.dat") {}
    const L1Truth& truth() const { return of_this(genuine, made); }
};

TEST_P(L1File, AllHitsAreFoundInCoincidences) {
    const Found found = find_pairs(bytes(), 25);
    EXPECT_EQ(found.n_hits, 2 * truth().n_pairs);
    EXPECT_EQ(found.n_in_coincidence, 2 * truth().n_pairs);
    EXPECT_EQ(found.n_pairs, truth().n_pairs);
    EXPECT_EQ(found.n_by_dt_ns, truth().n_by_dt_ns);
}

TEST_P(L1File, InAShorterWindowThereAreAsManyAsTheirTimesSay) {
    EXPECT_EQ(find_pairs(bytes(), 5).n_pairs, truth().n_by_dt_ns.at(4) + truth().n_by_dt_ns.at(5));
}

/// One message of the file as the trigger would get it from the boards. In its DOMs channel 12 always comes before
/// channel 0, though not in raw times: the file's order is that of calibrated times.
class MessageAgain {
  public:
    explicit MessageAgain(std::span<const std::byte> message) {
        for (auto frames = message.subspan(34); !frames.empty();) {
            const auto frame = frames.first(load_le<std::uint32_t>(frames.data()));
            add(frame);
            frames = frames.subspan(frame.size());
        }
        const auto number = [&](std::size_t at) { return load_le<std::uint32_t>(message.data() + at); };
        origin_ = {number(10), number(14), number(18),
                   std::uint64_t{number(22)} * slices_per_second + number(26) / ticks_per_slice};
    }
    Bytes write() const {
        Bytes memory(20'000);
        daq::Writer writer(memory);
        EXPECT_TRUE(daq::write_l1_slice(writer, origin_, {doms_, frames_, hits_, is_used_}, l1_));
        return Bytes(writer.bytes().begin(), writer.bytes().end());
    }

  private:
    void add(std::span<const std::byte> frame) {
        const auto number = [&](std::size_t at) { return load_le<std::uint32_t>(frame.data() + at); };
        Frame& known = frames_.emplace_back(one_piece(number(52)));
        known.n_received = number(32) & 0xffff;
        known.n_numbers = (number(32) >> 16) + 1;
        known.status1 = number(36);
        known.status2 = number(40);
        const auto dom = static_cast<std::uint32_t>(doms_.size());
        doms_.push_back({.id = number(28), .position_m = {}, .t0_ns = {8}});
        CalibratedHits& hits = hits_.emplace_back(1000);
        EXPECT_EQ(hits.fill(known, frame.subspan(56), doms_.back().t0_ns), FrameFate::used);
        for_each_coincidence(
            hits.hits(), 25 * 16, [](const Coincidence& one) { return one.n_pmts() > 1; },
            [&](const Coincidence& one) {
                l1_.push_back({one.hits.front().time(), dom, one.hits});
            });
        is_used_.push_back(true);
    }

    daq::Origin origin_;
    std::vector<Dom> doms_;
    std::vector<Frame> frames_;
    std::vector<CalibratedHits> hits_;
    std::vector<bool> is_used_;
    std::vector<L1Hit> l1_;
};

TEST_P(L1File, IsWrittenAgainByteForByte) {
    const Bytes file = bytes();
    std::span<const std::byte> rest(file);
    std::uint32_t n = 0;
    for (; !rest.empty(); ++n) {
        const auto message = rest.first(load_le<std::uint32_t>(rest.data()));
        EXPECT_EQ(MessageAgain(message).write(), Bytes(message.begin(), message.end())) << n;
        rest = rest.subspan(message.size());
    }
    EXPECT_EQ(n, truth().n_messages);
}

INSTANTIATE_TEST_SUITE_P(Data, L1File, test::both_kinds, test::kind_name);

class Datagrams : public test::DetectorFile {
  protected:
    Datagrams() : DetectorFile("clb.dqd") {}
};

/// A script outside this project counted these numbers from the file's times; the same for hits on different PMTs.
TEST_P(Datagrams, CoincidencesAreThoseOfASlowReference) {
    CalibratedHits calibrated(1000);
    const Bytes file = bytes();
    std::span<const std::byte> rest(file);
    for (int n_left = of_this(3, 4); n_left > 0; --n_left) {
        clb::PacketView packet;
        ASSERT_EQ(clb::parse(rest.subspan(4, load_le<std::uint32_t>(rest.data())), {}, packet), wire::Verdict::ok);
        rest = rest.subspan(4 + load_le<std::uint32_t>(rest.data()));
        std::vector<clb::Hit> hits(packet.n_hits());
        clb::unpack(packet, hits.data());
        std::uint32_t n_pairs = 0;
        for (std::size_t a = 0; a < hits.size(); ++a)
            for (std::size_t b = 0; b < hits.size(); ++b)
                n_pairs += hits[a].time_ns < hits[b].time_ns && hits[b].time_ns - hits[a].time_ns <= 25 &&
                           hits[a].channel != hits[b].channel;
        ASSERT_EQ(calibrated.fill(one_piece(packet.n_hits()), packet.hits, {}), FrameFate::used);
        std::uint32_t n_found = 0, n_in_found = 0;
        for_each_coincidence(
            calibrated.hits(), 25 * 16, [](const Coincidence& one) { return one.n_pmts() > 1; },
            [&](const Coincidence& one) {
                ++n_found;
                n_in_found += static_cast<std::uint32_t>(one.hits.size());
            });
        EXPECT_EQ(n_found > 0, hits.size() > 0) << "each datagram with hits has some";
        EXPECT_LE(n_found, n_pairs);
        EXPECT_GE(n_in_found, 2 * n_found);
    }
    EXPECT_TRUE(rest.empty());
}

INSTANTIATE_TEST_SUITE_P(Data, Datagrams, test::both_kinds, test::kind_name);

}  // namespace
}  // namespace anello::km3net
