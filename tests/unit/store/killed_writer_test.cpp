// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

#include "seed.hpp"
#include "unit/store/column_rig.hpp"

namespace {

/// The write at which a process of the test dies; none for -1.
std::int64_t n_writes_left = -1;
constexpr std::size_t page_bytes = 4096;

}  // namespace

/// Replaces the C library's function. The write at which the process dies is cut at each page that it crosses, as the
/// system may cut it where a signal kills.
extern "C" ssize_t pwrite(int file, const void* from, std::size_t n_bytes, off_t at) {
    const std::size_t to_page = page_bytes - static_cast<std::size_t>(at) % page_bytes;
    for (std::size_t part = std::min(n_bytes, to_page), done = 0; n_writes_left >= 0 && part < n_bytes;) {
        if (n_writes_left-- == 0) {
            syscall(SYS_pwrite64, file, from, part, at);
            raise(SIGKILL);
        }
        done = part;
        part = std::min(n_bytes, done + page_bytes);
    }
    if (n_writes_left >= 0 && n_writes_left-- == 0) raise(SIGKILL);
    return syscall(SYS_pwrite64, file, from, n_bytes, at);
}

namespace anello::store {
namespace {

class KilledWriterProcesses : public test::ColumnRig {
  protected:
    /// Starts a process that does this. It must not return to the test.
    pid_t start(const std::function<void()>& work) {
        const pid_t child = fork();
        if (child != 0) return child;
        work();
        _exit(0);
    }
    /// Exit code of the process; -1 if it was killed.
    static int end_of(pid_t child) {
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
};

/// The process dies at each write, also in the middle of one that crosses a page, from the file's creation to its end.
TEST_F(KilledWriterProcesses, LeavesAFileThatOpensAtWhicheverWriteItDies) {
    int code = -1;
    for (std::int64_t n = 0; code == -1; ++n) {
        begin_again();
        code = end_of(start([&] {
            n_writes_left = n;
            ColumnFile file(path());
            define(file, 64);
            for (std::uint64_t first = 0, i = 0; i < 20; ++i, first += 37) {
                append(file, first, 37);
                if (i % 4 == 3) flush(file);
            }
            if (!file.close()) _exit(4);
            _exit(0);
        }));
        expect_whole("killed at write " + std::to_string(n));
        ASSERT_FALSE(HasFailure());
        ASSERT_LT(n, 10'000);
    }
    EXPECT_EQ(code, 0);
}

/// ANELLO_KILLS in the environment sets the number of kills.
TEST_F(KilledWriterProcesses, LeavesAFileThatOpensAtAnyMoment) {
    const char* given = std::getenv("ANELLO_KILLS");
    const int n_kills = given == nullptr ? 20 : std::atoi(given);
    std::mt19937_64 random(anello::test::seed());
    for (int i = 0; i < n_kills; ++i) {
        begin_again();
        const std::uint64_t stop_at = std::uniform_int_distribution<std::uint64_t>(1, 60'000)(random);
        std::uint32_t n_spins = std::uniform_int_distribution<std::uint32_t>(0, 200'000)(random);
        const pid_t writer = start([this] {
            ColumnFile file(path());
            define(file, 1000);
            for (std::uint64_t first = 0;; first += 1000) {
                append(file, first, 1000);
                if (first % 7000 == 0) flush(file);
            }
        });
        while (told_->n_appended < stop_at) std::this_thread::yield();
        while (n_spins-- > 0) told_->n_appended.load();
        kill(writer, SIGKILL);
        ASSERT_EQ(end_of(writer), -1);
        expect_whole("kill " + std::to_string(i) + " at " + std::to_string(told_->n_appended));
        ASSERT_FALSE(HasFailure());
    }
}

}  // namespace
}  // namespace anello::store
