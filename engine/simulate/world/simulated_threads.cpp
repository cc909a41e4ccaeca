// SPDX-License-Identifier: Apache-2.0
#include "simulate/world/simulated_threads.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace anello::simulate {
namespace {

constexpr Nanoseconds longest_sleep_ns = 160'000;  // of a thread that nothing can wake

bool is_readable(int descriptor) noexcept {
    pollfd watched{descriptor, POLLIN, 0};
    return descriptor >= 0 && poll(&watched, 1, 0) > 0;
}

}  // namespace

class SimulatedThreads::Thread final : private Actor, private Runnable {
  public:
    Thread(ThreadConfig config, std::function<std::size_t()> do_work, SimulatedThreads& host)
        : config_(std::move(config)), do_work_(std::move(do_work)), host_(host) {}

    const ThreadConfig& config() const noexcept { return config_; }
    void start() {
        is_running_ = true;
        if (config_.cell != nullptr) config_.cell->begin(now_ns());
        appoint(now_ns() + host_.config_.wake_ns);
    }
    void stop() noexcept {
        if (!std::exchange(is_running_, false)) return;
        ++appointment_;
        if (config_.cell != nullptr) config_.cell->end(now_ns());
    }
    void wake() noexcept {
        if (std::exchange(wants_waking_, false)) end_sleep();
    }
    void end_sleep() noexcept {
        const Nanoseconds when_ns = std::max(now_ns(), asleep_from_ns_) + host_.config_.wake_ns;
        if (is_asleep_ && when_ns < appointed_ns_) appoint(when_ns);
    }

  private:
    Nanoseconds now_ns() const noexcept { return host_.world_.monotonic_ns(); }
    /// Replaces the earlier appointment.
    void appoint(Nanoseconds when_ns) noexcept {
        appointed_ns_ = when_ns;
        host_.world_.at(when_ns, *this, ++appointment_);
    }
    void on_event(std::uint64_t what) noexcept override {
        if (what != appointment_ || !is_running_) return;
        if (now_ns() < host_.stopped_until_ns_) return appoint(host_.stopped_until_ns_);
        is_asleep_ = false;
        host_.cores_.run(*this);
    }
    void run_on_core() noexcept override {
        if (!is_running_) return host_.cores_.hold_until(now_ns());
        ++host_.n_steps_;
        host_.blocked_until_ns_ = 0;
        std::size_t n_done = do_work_();
        rests_.looked(n_done > 0);
        if (n_done == 0 && config_.can_be_woken) {
            wants_waking_ = true;
            n_done = do_work_();
        }
        if (config_.cell != nullptr) config_.cell->came_by(now_ns(), n_done > 0);
        Nanoseconds end_ns = now_ns() + host_.cost_ns(n_done);
        host_.cores_.hold_until(end_ns);
        if (!is_running_) return;  // the step itself ended it
        end_ns = std::max(end_ns, host_.blocked_until_ns_);
        if (n_done == 0) return sleep_from(end_ns);
        woken_in_vain_ = false;
        const bool rests = n_done < config_.rest_below && rests_.should_rest();
        appoint(end_ns + (rests ? config_.rest_ns + host_.config_.wake_ns : 0));
    }
    /// If the descriptor is readable but there is no room for the data, the thread does not wait for it.
    void sleep_from(Nanoseconds begin_ns) noexcept {
        asleep_from_ns_ = begin_ns;
        is_asleep_ = true;
        const bool is_vain = std::exchange(woken_in_vain_, !woken_in_vain_ && is_readable(config_.wake_descriptor));
        if (woken_in_vain_) return appoint(begin_ns + host_.config_.wake_ns);
        const bool can_wait = !is_vain && (config_.can_be_woken || config_.wake_descriptor >= 0);
        const Nanoseconds wait_ns = config_.longest_wait_ns ? config_.longest_wait_ns() : usual_wait_ns;
        appoint(begin_ns + std::max<Nanoseconds>(can_wait ? wait_ns : longest_sleep_ns, 1) + host_.config_.wake_ns);
    }

    const ThreadConfig config_;
    const std::function<std::size_t()> do_work_;
    SimulatedThreads& host_;
    RestChoice rests_;
    bool is_running_ = false, is_asleep_ = false, wants_waking_ = false, woken_in_vain_ = false;
    Nanoseconds asleep_from_ns_ = 0, appointed_ns_ = 0;
    std::uint64_t appointment_ = 0;
};

class SimulatedThreads::Handle final : public Worker {
  public:
    explicit Handle(Thread& thread) : thread_(thread) {}
    ~Handle() override { thread_.stop(); }
    void start() override { thread_.start(); }
    void stop() override { thread_.stop(); }
    void wake() noexcept override { thread_.wake(); }
    const ThreadConfig& config() const noexcept override { return thread_.config(); }
    bool is_realtime() const noexcept override { return false; }

  private:
    Thread& thread_;
};

SimulatedThreads::SimulatedThreads(const HostConfig& config, World& world)
    : config_(config), world_(world), cores_(config.n_cores, world), random_(config.seed) {}

SimulatedThreads::~SimulatedThreads() = default;

std::unique_ptr<Worker> SimulatedThreads::make(ThreadConfig config, std::function<std::size_t()> do_work) {
    threads_.push_back(std::make_unique<Thread>(std::move(config), std::move(do_work), *this));
    return std::make_unique<Handle>(*threads_.back());
}

void SimulatedThreads::notify(int descriptor) noexcept {
    for (const auto& thread : threads_)
        if (thread->config().wake_descriptor == descriptor) thread->end_sleep();
}

void SimulatedThreads::end_all() noexcept {
    for (const auto& thread : threads_) thread->stop();
}

Nanoseconds SimulatedThreads::cost_ns(std::size_t n_done) noexcept {
    Nanoseconds cost_ns = config_.step_ns + static_cast<Nanoseconds>(n_done) * config_.work_ns;
    if (config_.preempted_share > 0 && random_.uniform() < config_.preempted_share)
        cost_ns += static_cast<Nanoseconds>(random_.uniform() * static_cast<double>(config_.preempted_ns));
    return std::max<Nanoseconds>(cost_ns, 1);
}

}  // namespace anello::simulate
