// SPDX-License-Identifier: Apache-2.0
#include "core/thread.hpp"

#include <hwloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "core/errors.hpp"

namespace anello {
namespace {

constexpr std::uint64_t turn_ns = 200'000;
constexpr std::uint32_t n_spins_alone = 20, n_spins_with_descriptor = 2;  // a descriptor wakes sooner than a sleep ends
constexpr long shortest_sleep_ns = 20'000, longest_sleep_ns = 160'000;
constexpr std::uint32_t n_sleeps_per_length = 16;  // sleeps of each length before the length doubles

void pause_cpu() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

std::int64_t thread_cpu_ns() noexcept {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<std::int64_t>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

/// Asks for short time slices on a shared core: the scheduler (EEVDF, Linux 6.12 and later) then runs this thread when
/// it wakes, instead of after the 3 ms slice of the running one. Needs no privilege; older kernels ignore it.
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

/// Above usual threads; the lowest of its kind, so that what the kernel runs in threads of this kind goes first.
bool become_realtime() noexcept {
    const sched_param lowest{.sched_priority = 1};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest) == 0;
}

/// Usual threads of the core get a turn before the system takes one for them: where they wait for long (the kernel's
/// own work among them), it stops real-time threads for 50 ms of each second.
class RealtimeTurn {
  public:
    void begin() noexcept { began_ns_ = clock_.monotonic_ns(); }
    void pause_if_long() noexcept {
        if (clock_.monotonic_ns() - began_ns_ < longest_ns) return;
        const timespec pause{0, pause_ns};
        nanosleep(&pause, nullptr);
        begin();
    }

  private:
    static constexpr Nanoseconds longest_ns = 1'500'000;
    static constexpr long pause_ns = 100'000;
    const SystemClock& clock_ = SystemClock::instance();
    Nanoseconds began_ns_ = clock_.monotonic_ns();
};

/// hwloc knows cores that the kernel hides from us (cgroups, cpusets), so a wrong core is an error with a reason.
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

WaitPolicy parse_wait_policy(const std::string& text) {
    return parse_word<WaitPolicy>(text, "threads.wait");
}

void Idler::idle(Nanoseconds wait_ns) noexcept {
    const std::uint32_t n_spins = descriptor_ < 0 ? n_spins_alone : n_spins_with_descriptor;
    if (policy_ == WaitPolicy::spin || ++n_idle_ < n_spins) return pause_cpu();
    if (descriptor_ >= 0 && !woken_in_vain_) {
        pollfd awaited{descriptor_, POLLIN, 0};
        const timespec at_most{wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
        woken_in_vain_ = ppoll(&awaited, 1, &at_most, nullptr) != 0;
        return;
    }
    woken_in_vain_ = false;
    const std::uint32_t n_doublings = std::min((n_idle_ - n_spins) / n_sleeps_per_length, 3U);
    const timespec rest{0, std::min(shortest_sleep_ns << n_doublings, longest_sleep_ns)};
    nanosleep(&rest, nullptr);
    n_idle_ = std::min(n_idle_, n_spins + 4 * n_sleeps_per_length);  // never wraps round to spinning
}

void Idler::rest() noexcept {
    reset();
    if (policy_ == WaitPolicy::spin) return;
    const timespec rest{0, shortest_sleep_ns};
    nanosleep(&rest, nullptr);
}

WorkerThread::WorkerThread(ThreadConfig config, std::function<std::size_t()> do_work)
    : config_(std::move(config)), do_work_(std::move(do_work)) {
    if (!config_.can_be_woken || config_.wait == WaitPolicy::spin) return;
    wake_event_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_event_ < 0)
        throw SystemError("cannot make the event that wakes thread " + config_.name, errno,
                          "Raise the limit of open files: `ulimit -n`.");
    config_.wake_descriptor = wake_event_;
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
    stop_.store(true, std::memory_order_relaxed);
    wake();
    if (thread_.joinable()) thread_.join();
}

// The later of the two exchanges sees what the other side did before: the waiting thread sees the work, or this thread
// sees that it waits.
void WorkerThread::wake() noexcept {
    if (wake_event_ >= 0 && wants_waking_.exchange(false, std::memory_order_seq_cst)) eventfd_write(wake_event_, 1);
}

/// Before it sleeps, a thread that can be woken says so and looks once more.
std::size_t WorkerThread::work_or_wait(Idler& idler) noexcept {
    if (wake_event_ >= 0) {
        wants_waking_.exchange(true, std::memory_order_seq_cst);  // pairs with the exchange in wake
        if (const std::size_t n_done = do_work_(); n_done > 0) return n_done;
    }
    idler.idle(config_.longest_wait_ns ? config_.longest_wait_ns() : usual_wait_ns);
    if (wake_event_ >= 0) {
        eventfd_t n_woken = 0;
        eventfd_read(wake_event_, &n_woken);
    }
    return 0;
}

void WorkerThread::run() noexcept {
    is_realtime_.store(config_.realtime && config_.wait != WaitPolicy::spin && become_realtime(),
                       std::memory_order_relaxed);
    if (sched_getscheduler(0) == SCHED_OTHER) ask_for_short_turns();  // not where it has a higher one from its maker
    prctl(PR_SET_TIMERSLACK, 1000UL);  // the default of 50 us would triple every short sleep
    Idler idler(config_.wait, config_.wake_descriptor);
    const bool is_realtime = this->is_realtime();
    RealtimeTurn turn;
    std::uint32_t n_rounds = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
        std::size_t n_done = do_work_();
        if (n_done == 0) {
            n_done = work_or_wait(idler);
            if (n_done == 0) turn.begin();  // it has waited
        }
        if (is_realtime) turn.pause_if_long();
        if (n_done >= config_.rest_below)
            idler.reset();
        else if (n_done > 0)
            idler.rest();
        if ((++n_rounds & 1023U) == 0) cpu_time_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
    }
    cpu_time_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
}

}  // namespace anello
