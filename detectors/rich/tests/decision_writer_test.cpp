// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/decision_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/errors.hpp"

namespace anello::rich::decision_writer_test {
namespace {

using anello::rich::EventRings;

/// A batch in which the event's number determines all values.
struct Batch {
    explicit Batch(std::uint32_t first, std::uint32_t n) : rings(n), quality(n) {
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t number = first + i;
            key.push_back((std::uint64_t{3} << 32) | number);
            fine.push_back(static_cast<std::uint8_t>(number));
            flags.push_back(static_cast<std::uint8_t>(number % 3));
            id.push_back(static_cast<std::uint16_t>(number * 7));
            stamp.push_back(number * 1000);
            rings[i].n_rings = static_cast<std::uint8_t>(number % 9);
            rings[i].flags = static_cast<std::uint8_t>(number % 7);
            for (std::uint16_t r = 0; r < rings[i].n_rings; ++r)
                rings[i].ring[r] = {static_cast<float>(number), static_cast<float>(r), 100.5f, r};
        }
        view.n_events = n;
        view.burst_id = 3;
        view.event_key = key.data();
        view.fine_time = fine.data();
        view.event_flags = flags.data();
        view.primitive_id = id.data();
        view.rings = rings.data();
        view.sent_ns = view.kernel_ns = view.placed_ns = stamp.data();
        for (std::uint32_t i = 0; i < n; ++i)
            for (std::uint16_t r = 0; r < max_rings_per_event; ++r) {
                quality[i][r] = {r, static_cast<float>(first + i), {}};
                quality[i][r].covariance_mm2.fill(static_cast<float>(r));
            }
        view.quality = quality.data();
        view.built_ns = 77;
        view.decided_ns = 88;
    }
    std::vector<std::uint64_t> key;
    std::vector<std::uint8_t> fine, flags;
    std::vector<std::uint16_t> id;
    std::vector<Nanoseconds> stamp;
    std::vector<EventRings> rings;
    std::vector<EventQuality> quality;
    DecisionBatch view{};
};

/// Calls the parts of both threads, before the file is due to be written.
void put(DecisionWriter& writer, const Batch& batch) {
    ASSERT_TRUE(writer.has_room(batch.view.n_events));
    writer.take(batch.view);
    writer.write(-1);
}

class DecisionFile : public testing::Test {
  protected:
    DecisionFile() {
        directory_ =
            std::filesystem::temp_directory_path() / ("anello_store_" + std::to_string(getpid()) + "_" +
                                                      testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::create_directories(directory_);
        path = directory_ / "decisions.h5";
    }
    ~DecisionFile() override { std::filesystem::remove_all(directory_); }

    template <typename T>
    std::vector<T> read(const char* name, hid_t type) const {
        const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
        const hid_t space = H5Dget_space(dataset);
        std::vector<T> rows(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
        EXPECT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), 0) << name;
        H5Sclose(space);
        H5Dclose(dataset);
        H5Fclose(file);
        return rows;
    }
    std::string attribute(const char* object, const char* name) const {
        const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
        const hid_t type = H5Aget_type(attribute);
        std::string text(H5Tget_size(type), ' ');
        H5Aread(attribute, type, text.data());
        H5Tclose(type);
        H5Aclose(attribute);
        H5Fclose(file);
        return text;
    }

    std::filesystem::path path;
    CounterPage page;

  private:
    std::filesystem::path directory_;
};

TEST_F(DecisionFile, HoldsTheQualityOfRingsWhereItIsAskedFor) {
    const auto selects_odd = [](std::uint64_t key, std::uint32_t) noexcept { return key % 2 == 1; };
    DecisionWriter writer(
        {.path = path, .prescale_log2 = 1, .select = selects_odd, .chunk_events = 64, .quality = true}, page);
    for (std::uint32_t first = 0; first < 300; first += 100) put(writer, Batch(first, 100));
    ASSERT_TRUE(writer.close());
    const auto n_rings = read<std::uint8_t>("n_rings", H5T_NATIVE_UINT8);
    const auto n_assigned = read<std::uint16_t>("ring_n_assigned", H5T_NATIVE_UINT16);
    const auto ratio = read<float>("ring_log_likelihood_ratio", H5T_NATIVE_FLOAT);
    const auto covariance = read<float>("ring_covariance_mm2", H5T_NATIVE_FLOAT);
    ASSERT_EQ(n_rings.size(), 150U);
    std::size_t next = 0;
    for (std::uint32_t row = 0; row < n_rings.size(); ++row)
        for (std::uint32_t r = 0; r < n_rings[row]; ++r, ++next) {
            ASSERT_EQ(n_assigned.at(next), r);
            ASSERT_EQ(ratio.at(next), static_cast<float>(2 * row + 1));
            for (std::size_t i = 0; i < 9; ++i) ASSERT_EQ(covariance.at(9 * next + i), static_cast<float>(r));
        }
    EXPECT_EQ(n_assigned.size(), next);
    EXPECT_EQ(covariance.size(), 9 * next);
}

TEST_F(DecisionFile, HoldsWhatWasWrittenAcrossChunks) {
    DecisionWriter writer({.path = path, .chunk_events = 64}, page);
    for (std::uint32_t first = 0; first < 1000; first += 100) put(writer, Batch(first, 100));
    ASSERT_TRUE(writer.close());
    EXPECT_EQ(writer.counters()[StoreCounter::events_stored], 1000U);
    EXPECT_EQ(writer.counters()[StoreCounter::chunks_written], 16U);

    const Batch all(0, 1000);
    EXPECT_EQ(read<std::uint64_t>("event_key", H5T_NATIVE_UINT64), all.key);
    EXPECT_EQ(read<std::uint8_t>("fine_time", H5T_NATIVE_UINT8), all.fine);
    EXPECT_EQ(read<std::uint8_t>("flags", H5T_NATIVE_UINT8), all.flags);
    std::vector<std::uint8_t> ring_flags;
    for (const EventRings& rings : all.rings) ring_flags.push_back(rings.flags);
    EXPECT_EQ(read<std::uint8_t>("ring_flags", H5T_NATIVE_UINT8), ring_flags);
    EXPECT_EQ(read<std::uint16_t>("primitive_id", H5T_NATIVE_UINT16), all.id);
    for (const char* name : {"sent_ns", "kernel_ns", "placed_ns"})
        EXPECT_EQ(read<std::int64_t>(name, H5T_NATIVE_INT64), all.stamp);
    EXPECT_EQ(read<std::int64_t>("built_ns", H5T_NATIVE_INT64), std::vector<std::int64_t>(1000, 77));
    EXPECT_EQ(read<std::int64_t>("decided_ns", H5T_NATIVE_INT64), std::vector<std::int64_t>(1000, 88));

    const auto n_rings = read<std::uint8_t>("n_rings", H5T_NATIVE_UINT8);
    const auto offset = read<std::uint64_t>("ring_offset", H5T_NATIVE_UINT64);
    const auto x = read<float>("ring_x_mm", H5T_NATIVE_FLOAT), y = read<float>("ring_y_mm", H5T_NATIVE_FLOAT);
    const auto radius = read<float>("ring_radius_mm", H5T_NATIVE_FLOAT);
    const auto n_hits = read<std::uint16_t>("ring_n_hits", H5T_NATIVE_UINT16);
    std::uint64_t next = 0;
    for (std::uint32_t event = 0; event < 1000; ++event) {
        ASSERT_EQ(n_rings[event], event % 9);
        ASSERT_EQ(offset[event], next);
        for (std::uint32_t r = 0; r < n_rings[event]; ++r, ++next) {
            ASSERT_EQ(x[next], static_cast<float>(event));
            ASSERT_EQ(y[next], static_cast<float>(r));
            ASSERT_EQ(radius[next], 100.5f);
            ASSERT_EQ(n_hits[next], r);
        }
    }
    EXPECT_EQ(x.size(), next);
    EXPECT_EQ(writer.counters()[StoreCounter::rings_stored], next);
    EXPECT_EQ(attribute("ring_radius_mm", "unit"), "mm");
    EXPECT_EQ(attribute(".", "software").substr(0, 7), "anello ");
}

TEST_F(DecisionFile, WhatHasComeIsSafeWithinASecond) {
    DecisionWriter writer({.path = path}, page);
    const auto n_stored = [this] { return read<std::uint64_t>("event_key", H5T_NATIVE_UINT64).size(); };
    put(writer, Batch(0, 10));
    EXPECT_EQ(n_stored(), 0U);
    writer.write(store::save_every_ns);
    EXPECT_EQ(n_stored(), 10U) << "of a file that is still written";
    put(writer, Batch(10, 10));
    writer.write(2 * store::save_every_ns - 1);
    EXPECT_EQ(n_stored(), 10U);
    writer.write(2 * store::save_every_ns);
    EXPECT_EQ(n_stored(), 20U);
    EXPECT_LE(store::save_every_ns, 500'000'000) << "or more than a second could be lost on a busy machine";
}

/// While the file is slow, copies of decisions wait for it, and their batches are free.
TEST_F(DecisionFile, WhatWaitsForTheFileIsKeptInOrderAsLongAsThereIsRoom) {
    DecisionWriter writer({.path = path, .chunk_events = 64, .waiting_events = 256}, page);
    for (std::uint32_t first = 0; first < 250; first += 50) {
        ASSERT_TRUE(writer.has_room(50)) << first;
        ASSERT_EQ(writer.is_filling(), first >= 64);
        writer.take(Batch(first, 50).view);
    }
    EXPECT_TRUE(writer.has_room(6));
    EXPECT_FALSE(writer.has_room(7));
    EXPECT_FALSE(writer.is_idle());
    EXPECT_EQ(writer.write(-1), 250U);
    EXPECT_TRUE(writer.is_idle() && writer.has_room(256));
    writer.take(Batch(250, 50).view);
    ASSERT_TRUE(writer.close()) << "with what still waits";
    const Batch all(0, 300);
    EXPECT_EQ(read<std::uint64_t>("event_key", H5T_NATIVE_UINT64), all.key);
    EXPECT_EQ(read<std::int64_t>("sent_ns", H5T_NATIVE_INT64), all.stamp);
}

TEST_F(DecisionFile, StoresOnlyWhatIsSelected) {
    const Selection every_fourth = [](std::uint64_t key, std::uint32_t log2) noexcept {
        return (key & ((1U << log2) - 1)) == 0;
    };
    DecisionWriter writer({.path = path, .prescale_log2 = 2, .select = every_fourth}, page);
    put(writer, Batch(0, 103));
    ASSERT_TRUE(writer.close());
    EXPECT_EQ(writer.counters()[StoreCounter::events_stored], 26U);
    EXPECT_EQ(writer.counters()[StoreCounter::events_not_selected], 77U);
    const auto keys = read<std::uint64_t>("event_key", H5T_NATIVE_UINT64);
    EXPECT_EQ(keys.back() & 0xffffffff, 100U);
}

TEST_F(DecisionFile, WhatComesAfterCloseIsLostAndCounted) {
    DecisionWriter writer({.path = path}, page);
    EXPECT_TRUE(writer.close());
    EXPECT_TRUE(writer.close());
    put(writer, Batch(0, 5));
    EXPECT_EQ(writer.counters()[StoreCounter::events_lost], 5U);
    EXPECT_EQ(read<std::uint64_t>("event_key", H5T_NATIVE_UINT64).size(), 0U);
}

TEST_F(DecisionFile, SetUpErrorsNameTheCause) {
    try {
        DecisionWriter writer({.path = path.parent_path() / "nowhere" / "x.h5"}, page);
        FAIL() << "a file in no directory was created";
    } catch (const SystemError& error) {
        EXPECT_EQ(error.error_number(), ENOENT);
        EXPECT_THAT(error.what(), testing::HasSubstr("nowhere/x.h5"));
    }
    DecisionWriter first({.path = path}, page);
    CounterPage other;
    errno = ENOSPC;  // from an earlier, unrelated error
    try {
        DecisionWriter second({.path = path}, other);
        ADD_FAILURE() << "a file that is open was replaced";
    } catch (const SystemError& error) {
        EXPECT_NE(error.error_number(), ENOSPC) << "HDF5 refuses by itself";
    }
    EXPECT_THROW(DecisionWriter({.path = ""}, page), ConfigError);
    EXPECT_THROW(DecisionWriter({.path = path, .prescale_log2 = 1}, page), ConfigError);
    EXPECT_THROW(DecisionWriter({.path = path, .waiting_events = 0}, page), ConfigError);
    const Selection all = [](std::uint64_t, std::uint32_t) noexcept { return true; };
    EXPECT_THROW(DecisionWriter({.path = path, .prescale_log2 = 64, .select = all}, page), ConfigError);
}

/// The process's limit on file size replaces a full disk, because the system refuses in the same way.
TEST_F(DecisionFile, AFullDiskLosesChunksInAllColumnsAlikeAndGoesOn) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    DecisionWriter writer({.path = path, .chunk_events = 1000}, page);
    rlimit small = before;
    small.rlim_cur = 1'000'000;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (std::uint32_t first = 0; first < 20'000; first += 1000) put(writer, Batch(first, 1000));
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_FALSE(writer.close());
    const auto& counters = writer.counters();
    EXPECT_GT(counters[StoreCounter::errors], 0U);
    EXPECT_GT(counters[StoreCounter::events_lost], 0U);
    EXPECT_EQ(counters[StoreCounter::events_stored] + counters[StoreCounter::events_lost], 20'000U);
    EXPECT_THAT(writer.last_error(), testing::HasSubstr("File too large"));
    EXPECT_EQ(read<std::uint64_t>("event_key", H5T_NATIVE_UINT64).size(), counters[StoreCounter::events_stored]);
    EXPECT_EQ(read<std::int64_t>("decided_ns", H5T_NATIVE_INT64).size(), counters[StoreCounter::events_stored]);
    EXPECT_EQ(read<float>("ring_x_mm", H5T_NATIVE_FLOAT).size(), counters[StoreCounter::rings_stored]);
}

TEST_F(DecisionFile, ADiskStillFullAtTheEndIsToldAndDoesNoHarm) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = 100'000;
    {
        DecisionWriter writer({.path = path, .chunk_events = 1000}, page);
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
        for (std::uint32_t first = 0; first < 10'000; first += 1000) put(writer, Batch(first, 1000));
        EXPECT_FALSE(writer.close());
        EXPECT_THAT(writer.last_error(), testing::HasSubstr("File too large"));
    }
    setrlimit(RLIMIT_FSIZE, &before);
}

}  // namespace
}  // namespace anello::rich::decision_writer_test
