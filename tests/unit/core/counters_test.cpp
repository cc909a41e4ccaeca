// SPDX-License-Identifier: Apache-2.0
#include "core/counters/counters.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/counters/page_reader.hpp"
#include "core/errors.hpp"
#include "core/latency/latency_leg.hpp"

namespace anello {

enum class Fruit : std::uint8_t { apples, pears, count };
template <>
inline constexpr std::array<CounterLabel, 2> counter_labels<Fruit>{
    {{"apples", "apples seen", Place::informative}, {"pears", "pears seen", Place::events}}};

namespace {

std::string page_name() {
    return "/anello.test." + std::to_string(getpid());
}

TEST(Counters, AddAndSetAreReadThroughEveryHandle) {
    CounterPage page;
    auto fruit = page.add_block<Fruit>("basket");
    const auto same = fruit;
    fruit.add(Fruit::pears);
    fruit.add(Fruit::pears, 4);
    fruit.set(Fruit::apples, 7);
    EXPECT_EQ(same[Fruit::pears], 5U);
    EXPECT_EQ(same[Fruit::apples], 7U);
}

TEST(Counters, AnotherProcessReadsANamedPage) {
    CounterPage page(page_name());
    page.add_block<Fruit>("first").add(Fruit::apples, 3);
    page.add_block<Fruit>("second").add(Fruit::pears, 9);
    const auto samples = CounterPage::read(page_name());
    ASSERT_EQ(samples.size(), 4U);
    EXPECT_EQ(samples[0].block, "first");
    EXPECT_EQ(samples[0].name, "apples");
    EXPECT_EQ(samples[0].value, 3U);
    EXPECT_EQ(samples[3].block, "second");
    EXPECT_EQ(samples[3].meaning, "pears seen");
    EXPECT_EQ(samples[3].value, 9U);
}

/// A limit for the size of files (ulimit -f) holds for shared memory, too.
TEST(Counters, APageIsAsLongAsWhatIsInIt) {
    const auto n_bytes = [] {
        struct stat found {};
        EXPECT_EQ(stat(("/dev/shm" + page_name()).c_str(), &found), 0);
        return found.st_size;
    };
    CounterPage page{PageIdentity(page_name())};
    EXPECT_LT(n_bytes(), 300'000);
    for (int i = 0; i < 10; ++i) page.add_leg("leg").record(1, 1);
    EXPECT_LT(n_bytes(), 1'600'000);
    for (int i = 0; i < 2500; ++i) page.add_block<Fruit>("block").add(Fruit::pears);
    EXPECT_LT(n_bytes(), 3'500'000);
    EXPECT_EQ(CounterPage::read(page_name()).size(), 5000U);
    EXPECT_EQ(PageReader(page_name()).legs().size(), 10U);
}

TEST(Counters, AMissingPageIsNamed) {
    EXPECT_THROW(CounterPage::read("/anello.test.absent"), SystemError);
}

TEST(Counters, AStrangersPageIsRefused) {
    const int descriptor = shm_open(page_name().c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_GE(descriptor, 0);
    ASSERT_EQ(ftruncate(descriptor, 1 << 20), 0);
    close(descriptor);
    EXPECT_THROW(CounterPage::read(page_name()), ConfigError);
    shm_unlink(page_name().c_str());
}

TEST(Counters, APipeInAPagesPlaceIsRefusedAndNotWaitedFor) {
    ASSERT_EQ(mkfifo(("/dev/shm" + page_name()).c_str(), 0644), 0);
    EXPECT_THROW(CounterPage::read(page_name()), ConfigError);
    shm_unlink(page_name().c_str());
}

TEST(Counters, APageOfAnotherUserIsNotBelieved) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make another user's page";
    const CounterPage page(page_name());
    EXPECT_NO_THROW(CounterPage::read(page_name()));
    ASSERT_EQ(chown(("/dev/shm" + page_name()).c_str(), 65534, 65534), 0);
    EXPECT_THROW(CounterPage::read(page_name()), ConfigError);
}

TEST(Counters, AFullPageSaysSo) {
    CounterPage page;
    EXPECT_THROW(
        {
            for (int i = 0; i < 16384; ++i) page.add_block<Fruit>("block");  // each has more than one counter
        },
        ConfigError);
}

}  // namespace
}  // namespace anello
