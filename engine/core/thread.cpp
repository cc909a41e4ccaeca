// SPDX-License-Identifier: Apache-2.0
#include "core/thread.hpp"

#include <hwloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "core/counters/counters.hpp"
#include "core/errors.hpp"

namespace anello {
namespace {

constexpr int most_threads = 24;  // in a pool: a counter page has room for 64 threads of stages
constexpr std::uint64_t turn_ns = 200'000;
constexpr std::uint32_t n_spins_alone = 20, n_spins_with_descriptor = 1;  // poll() itself looks once more
constexpr long shortest_sleep_ns = 20'000, longest_sleep_ns = 160'000;
constexpr std::uint32_t n_sleeps_per_length = 16;  // sleeps of each length before the length doubles

void pause_cpu() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Requests short time slices on a shared core. The scheduler (EEVDF, Linux 6.12 and later) then runs this thread when
/// it wakes, and not only after the 3 ms slice of the running thread. Needs no privilege; older kernels ignore it.
void ask_for_short_turns() noexcept {
    struct {
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime_ns, deadline_ns, period_ns;
    } attributes{};  // the kernel's struct sched_attr, which Debian 12's headers lack
    attributes.size = sizeof attributes;
    attributes.nice = getpriority(PRIO_PROCESS, 0);
    attributes.runtime_ns = turn_ns;
    syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

/// Gives the thread priority over normal threads, but the lowest real-time priority, so that the kernel's own real-time
/// threads run first.
bool become_realtime(bool goes_first) noexcept {
    const sched_param lowest{.sched_priority = goes_first ? 2 : 1};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest) == 0;
}

/// Leaves time for normal threads on the core before the kernel takes it by force: if they have less than 50 ms of a
/// second (including the kernel's own work), the kernel stops real-time threads for the missing time, all at once. This
/// class gives them an eleventh of the time, during natural waits or in added pauses.
class RealtimeTurn {
  public:
    void worked() noexcept {
        owed_ns_ += since_last();
        if (owed_ns_ < longest_ns) return;
        const timespec pause{0, pause_ns};
        nanosleep(&pause, nullptr);
        waited();
    }
    void waited() noexcept { owed_ns_ = std::max(Nanoseconds{0}, owed_ns_ - since_last() * (longest_ns / pause_ns)); }

  private:
    Nanoseconds since_last() noexcept {
        const Nanoseconds now_ns = clock_.monotonic_ns();
        return now_ns - std::exchange(last_ns_, now_ns);
    }

    static constexpr Nanoseconds longest_ns = 1'000'000;
    static constexpr long pause_ns = 100'000;
    const SystemClock& clock_ = SystemClock::instance();
    Nanoseconds last_ns_ = clock_.monotonic_ns();
    Nanoseconds owed_ns_ = 0;  ///< work for which other threads have not yet had their share
};

/// Reports in a thread's cell, if there is one, that the thread runs, and when each of its steps ended.
class Presence {
  public:
    explicit Presence(ThreadCell* cell) noexcept : cell_(cell) {
        if (cell_ != nullptr) cell_->begin(clock_.monotonic_ns());
    }
    ~Presence() {
        if (cell_ != nullptr) cell_->end(clock_.monotonic_ns());
    }
    Presence(const Presence&) = delete;
    Presence& operator=(const Presence&) = delete;
    void came_by(bool has_worked) const noexcept {
        if (cell_ != nullptr) cell_->came_by(clock_.monotonic_ns(), has_worked);
    }

  private:
    ThreadCell* const cell_;
    const SystemClock& clock_ = SystemClock::instance();
};

/// hwloc lists cores that the kernel denies to this process (cgroups, cpusets), so a wrong core is an error with a
/// reason.
void pin_to_core(std::thread& thread, const ThreadConfig& config) {
    hwloc_topology_t raw = nullptr;
    hwloc_topology_init(&raw);
    const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(raw, hwloc_topology_destroy);
    hwloc_topology_load(topology.get());
    const hwloc_obj_t core = hwloc_get_pu_obj_by_os_index(topology.get(), static_cast<unsigned>(config.core));
    if (core == nullptr ||
        hwloc_set_thread_cpubind(topology.get(), thread.native_handle(), core->cpuset, HWLOC_CPUBIND_THREAD) != 0) {
        throw ConfigError(config.name + ".core", "must be a logical core this process may use",
                          std::to_string(config.core), "List them with `nproc` and `lscpu`, or use -1 for no pinning.");
    }
}

}  // namespace

std::int64_t thread_cpu_ns() noexcept {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<std::int64_t>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

std::uint32_t n_threads_of(std::int32_t wanted) noexcept {
    if (wanted >= 0) return static_cast<std::uint32_t>(wanted);
    cpu_set_t cores;
    const int n_cores = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    return n_cores > 1 ? static_cast<std::uint32_t>(std::min(n_cores, most_threads)) : 0;
}

ThreadConfig told_in(CounterPage& page, ThreadConfig config) {
    if (config.cell == nullptr) config.cell = &page.add_thread(config.name);
    return config;
}

WaitPolicy parse_wait_policy(const std::string& text) {
    return parse_word<WaitPolicy>(text, "threads.wait");
}

void Idler::idle(Nanoseconds wait_ns) noexcept {
    const bool has_descriptor = descriptor_ >= 0 || event_ >= 0;
    const std::uint32_t n_spins = has_descriptor ? n_spins_with_descriptor : n_spins_alone;
    if (policy_ == WaitPolicy::spin || ++n_idle_ < n_spins) return pause_cpu();
    if (has_descriptor && !woken_in_vain_) {
        woken_in_vain_ = was_readable(wait_ns);
        return;
    }
    woken_in_vain_ = false;
    const std::uint32_t n_doublings = std::min((n_idle_ - n_spins) / n_sleeps_per_length, 3U);
    const timespec rest{0, std::min(shortest_sleep_ns << n_doublings, longest_sleep_ns)};
    nanosleep(&rest, nullptr);
    n_idle_ = std::min(n_idle_, n_spins + 4 * n_sleeps_per_length);  // never wraps round to spinning
}

bool Idler::was_readable(Nanoseconds wait_ns) noexcept {
    std::array<pollfd, 2> awaited{{{descriptor_, POLLIN, 0}, {event_, POLLIN, 0}}};  // poll() ignores negative ones
    const timespec at_most{wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
    if (ppoll(awaited.data(), awaited.size(), &at_most, nullptr) <= 0) return false;
    eventfd_t n_woken = 0;
    if (awaited[1].revents != 0) eventfd_read(event_, &n_woken);
    return awaited[0].revents != 0;
}

void Idler::rest(Nanoseconds rest_ns) const noexcept {
    if (policy_ == WaitPolicy::spin || rest_ns <= 0) return;
    const timespec rest{0, rest_ns};
    nanosleep(&rest, nullptr);
}

namespace {

class SystemThreads final : public Threads {
  public:
    std::unique_ptr<Worker> make(ThreadConfig config, std::function<std::size_t()> do_work) override {
        return std::make_unique<WorkerThread>(std::move(config), std::move(do_work));
    }
    void pause(Nanoseconds for_ns) override { std::this_thread::sleep_for(std::chrono::nanoseconds(for_ns)); }
};

}  // namespace

Threads& Threads::system() noexcept {
    static SystemThreads threads;
    return threads;
}

WorkerThread::WorkerThread(ThreadConfig config, std::function<std::size_t()> do_work)
    : config_(std::move(config)), do_work_(std::move(do_work)) {
    if (!config_.can_be_woken || config_.wait == WaitPolicy::spin) return;
    wake_event_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_event_ < 0)
        throw SystemError("cannot make the event that wakes thread " + config_.name, errno,
                          "Raise the limit of open files: `ulimit -n`.");
}

WorkerThread::~WorkerThread() {
    stop();
    if (wake_event_ >= 0) close(wake_event_);
}

void WorkerThread::start() {
    stop_.store(false, std::memory_order_relaxed);
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), config_.name.substr(0, 15).c_str());
    if (config_.core < 0) return;
    try {
        pin_to_core(thread_, config_);
    } catch (...) {
        stop();
        throw;
    }
}

void WorkerThread::stop() {
    stop_.store(true, std::memory_order_seq_cst);  // pairs with the second check in work_or_wait()
    wake();
    if (thread_.joinable()) thread_.join();
}

// Of the two exchanges, the later one sees what the other side did before its own: either the waiting thread sees the
// work, or this thread sees that it waits.
void WorkerThread::wake() noexcept {
    if (wake_event_ >= 0 && wants_waking_.exchange(false, std::memory_order_seq_cst)) eventfd_write(wake_event_, 1);
}

/// Before it sleeps, a thread that can be woken announces it and looks for work once more.
std::size_t WorkerThread::work_or_wait(Idler& idler) noexcept {
    if (wake_event_ >= 0) {
        wants_waking_.exchange(true, std::memory_order_seq_cst);  // pairs with the exchange in wake
        if (const std::size_t n_done = do_work_(); n_done > 0) return n_done;
        if (stop_.load(std::memory_order_seq_cst)) return 0;  // stop() came before the exchange, so it woke nobody
    }
    idler.idle(config_.longest_wait_ns ? config_.longest_wait_ns() : usual_wait_ns);
    wants_waking_.store(false, std::memory_order_relaxed);  // awake: it announces and looks again before the next sleep
    return 0;
}

void WorkerThread::run() noexcept {
    is_realtime_.store(config_.realtime && config_.wait != WaitPolicy::spin && become_realtime(config_.goes_first),
                       std::memory_order_relaxed);
    if (sched_getscheduler(0) == SCHED_OTHER) ask_for_short_turns();  // a priority set by its creator stays
    prctl(PR_SET_TIMERSLACK, 1000UL);  // the default of 50 us would triple each short sleep
    run_steps();
    cpu_time_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
}

void WorkerThread::run_steps() noexcept {
    Idler idler(config_.wait, config_.wake_descriptor, wake_event_);
    const bool is_realtime = this->is_realtime();
    RealtimeTurn turn;
    RestChoice rests;
    const Presence presence(config_.cell);
    std::uint32_t n_rounds = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
        std::size_t n_done = do_work_();
        rests.looked(n_done > 0);
        if (is_realtime) turn.worked();
        if (n_done == 0) {
            n_done = work_or_wait(idler);
            if (is_realtime && n_done == 0) turn.waited();
        }
        presence.came_by(n_done > 0);
        if (n_done > 0) idler.reset();
        if (n_done > 0 && n_done < config_.rest_below && rests.should_rest()) {
            idler.rest(config_.rest_ns);
            presence.came_by(false);
        }
        if ((++n_rounds & 1023U) == 0) cpu_time_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
    }
}

}  // namespace anello
