// SPDX-License-Identifier: Apache-2.0
#include "core/page_owner.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "core/counters.hpp"
#include "core/errors.hpp"
#include "core/page_reader.hpp"

namespace anello {

enum class Leaf : std::uint8_t { oak, count };
template <>
inline constexpr std::array<CounterLabel, 1> counter_labels<Leaf>{
    {{"oak", "leaves \x1b[31m of oaks", Place::informative}}};

namespace {

std::string owned_page_name() {
    return "/anello.test-owner." + std::to_string(getpid());
}

TEST(PageOwner, APageIsOfTheProcessThatMadeIt) {
    const CounterPage page(owned_page_name());
    const PageOwner owner = owner_of_page(owned_page_name());
    EXPECT_EQ(owner.process, getpid());
    EXPECT_GT(owner.start_ticks, 0U);
    EXPECT_TRUE(still_runs(owner));
}

TEST(PageOwner, OthersMayReadAPageAndNoMore) {
    const mode_t before = umask(0);
    const CounterPage page(owned_page_name());
    umask(before);
    struct stat found {};
    ASSERT_EQ(stat(("/dev/shm" + owned_page_name()).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0644U);
}

TEST(PageOwner, AnotherProcessWithTheSameNumberIsNotIt) {
    PageOwner owner = this_process();
    ++owner.start_ticks;
    EXPECT_FALSE(still_runs(owner));
}

TEST(PageOwner, WhatRunsInAnotherContainerCannotBeKnown) {
    PageOwner owner = this_process();
    owner.process = 1 << 30;
    EXPECT_FALSE(still_runs(owner));
    ++owner.process_numbers_of;
    EXPECT_TRUE(still_runs(owner));
}

TEST(PageOwner, NoNameOfAProcessMisleads) {
    ASSERT_EQ(prctl(PR_SET_NAME, "a) Z 1 2"), 0);
    EXPECT_TRUE(still_runs(this_process()));
}

/// Killed, then not waited for, then gone.
TEST(PageOwner, AKilledProcessLeavesAPageThatIsKnownAsDead) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const std::string name = owned_page_name() + ".killed";
    const pid_t child = fork();
    if (child == 0) {
        PageIdentity identity(name);
        identity.run_number = 42;
        identity.run_name = "night";
        identity.chain = "rich";
        identity.config_digest = std::string(64, 'd');
        CounterPage page(identity);
        page.add_block<Leaf>("tree").add(Leaf::oak, 7);
        page.set_state(RunState::running);
        [[maybe_unused]] const auto told = write(ready[1], "!", 1);
        for (;;) pause();
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    const PageOwner owner = owner_of_page(name);
    EXPECT_EQ(owner.process, child);
    EXPECT_TRUE(still_runs(owner));
    kill(child, SIGKILL);
    siginfo_t found{};
    waitid(P_PID, static_cast<id_t>(child), &found, WEXITED | WNOWAIT);
    EXPECT_FALSE(still_runs(owner)) << "nobody has waited for it yet";
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(still_runs(owner));
    const auto samples = CounterPage::read(name);
    ASSERT_EQ(samples.size(), 1U);
    EXPECT_EQ(samples[0].value, 7U);
    EXPECT_EQ(samples[0].meaning, "leaves ?[31m of oaks");  // nothing that a terminal would obey
    const PageReader::Header header = PageReader(name).header();
    EXPECT_EQ(header.run_number, 42U);
    EXPECT_EQ(header.run_name, "night");
    EXPECT_EQ(header.chain, "rich");
    EXPECT_EQ(header.config_digest, std::string(64, 'd'));
    EXPECT_EQ(header.state, "running");
    EXPECT_LT(header.started_ns, header.heartbeat_ns);
    shm_unlink(name.c_str());
    for (const int end : ready) close(end);
}

TEST(PageOwner, NoPageAndAStrangersPageAreErrors) {
    EXPECT_THROW(owner_of_page("/anello.test.absent"), SystemError);
    const int descriptor = shm_open(owned_page_name().c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_GE(descriptor, 0);
    EXPECT_THROW(owner_of_page(owned_page_name()), ConfigError);
    ASSERT_EQ(ftruncate(descriptor, 1 << 20), 0);
    EXPECT_THROW(owner_of_page(owned_page_name()), ConfigError);
    close(descriptor);
    shm_unlink(owned_page_name().c_str());
}

}  // namespace
}  // namespace anello
