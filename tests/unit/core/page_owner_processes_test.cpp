// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "core/counters/counters.hpp"
#include "core/counters/page_owner.hpp"
#include "core/counters/page_reader.hpp"
#include "core/kernel_handle.hpp"

namespace anello {

enum class Leaf : std::uint8_t { oak, count };
template <>
inline constexpr std::array<CounterLabel, 1> counter_labels<Leaf>{
    {{"oak", "leaves \x1b[31m of oaks", Place::informative}}};

namespace {

/// The process is killed, then not waited for, then gone.
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

/// A file of root lies in a folder where each user may remove only his own, such as /dev/shm.
TEST(PageOwnerProcesses, ATakenNameKeepsNoProcessOut) {
    constexpr uid_t nobody = 65'534;
    if (geteuid() != 0) GTEST_SKIP() << "only root can leave a file that another user cannot remove";
    const std::string name = "/anello.test-taken." + std::to_string(getpid());
    const Descriptor taken(shm_open(name.c_str(), O_CREAT | O_RDWR, 0600));
    const pid_t child = fork();
    if (child == 0) {
        if (setuid(nobody) != 0) _exit(1);
        CounterPage page(name);
        page.add_block<Leaf>("tree").add(Leaf::oak, 3);
        std::size_t n_found = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
            if (const std::string found = "/" + entry.path().filename().string(); found.starts_with(name + "-"))
                n_found += CounterPage::read(found).at(0).value == 3 ? 1 : 0;
        _exit(n_found == 1 ? 0 : 2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    shm_unlink(name.c_str());
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))  // _exit() removed no page
        if (("/" + entry.path().filename().string()).starts_with(name + "-")) std::filesystem::remove(entry);
}

}  // namespace
}  // namespace anello
