// SPDX-License-Identifier: Apache-2.0
#include "core/counters/page_owner.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "core/counters/counters.hpp"
#include "core/counters/page_reader.hpp"
#include "core/errors.hpp"

namespace anello {

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
