// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "core/counters.hpp"
#include "core/page_owner.hpp"
#include "core/page_reader.hpp"

namespace anello {

enum class Leaf : std::uint8_t { oak, count };
template <>
inline constexpr std::array<CounterLabel, 1> counter_labels<Leaf>{
    {{"oak", "leaves \x1b[31m of oaks", Place::informative}}};

namespace {

/// Killed, then not waited for, then gone.
TEST(PageOwnerProcesses, AKilledProcessLeavesAPageThatIsKnownAsDead) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const std::string name = "/anello.test-killed." + std::to_string(getpid());
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

}  // namespace
}  // namespace anello
