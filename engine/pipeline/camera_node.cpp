// SPDX-License-Identifier: Apache-2.0
#include "pipeline/camera_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/errors.hpp"
#include "pipeline/camera_shares.hpp"

namespace anello::pipeline {
namespace {

constexpr std::chrono::seconds drain_limit{10};
constexpr std::chrono::seconds subscribers_limit{3};  // then draining goes on without them
/// Ports, and the boards behind each, of one group.
struct Share {
    std::uint32_t first_port = 0;
    std::vector<build::BoardRange> port_boards;
};

Share share_of(const build::BoardRange& group, std::uint32_t n_boards, std::uint32_t n_ports) {
    Share share;
    for (std::uint32_t port = 0; port < n_ports; ++port) {
        const build::BoardRange boards = boards_of_port(n_boards, n_ports, port);
        if (!group.contains(boards.first)) continue;
        if (!group.contains(boards.first + boards.count - 1))
            throw ConfigError("camera_build.groups", "must be such that no port serves two groups",
                              fmt::format("port {} of {} serves boards {} to {}", port, n_ports, boards.first,
                                          boards.first + boards.count - 1),
                              "Give each board a port of its own.");
        if (share.port_boards.empty()) share.first_port = port;
        share.port_boards.push_back(boards);
    }
    if (share.port_boards.empty() || share.port_boards.front().first != group.first)
        throw ConfigError("camera_build.groups", "must be such that no port serves two groups, and none is without",
                          fmt::format("{} ports", n_ports), "Give each board a port of its own.");
    return share;
}

void validate(const CameraNodeConfig& config) {
    const std::uint32_t n_boards = config.build.shape.n_boards;
    if (config.backend.ports.empty() || config.backend.ports.size() > n_boards)
        throw ConfigError("receive.ports", fmt::format("must name 1 to {} ports, as there are boards", n_boards),
                          std::to_string(config.backend.ports.size()), "0 takes any free port.");
    if (config.n_groups == 0 || config.n_groups > build::max_camera_groups ||
        build::boards_of_group(n_boards, config.n_groups, config.n_groups - 1).count == 0)
        throw ConfigError("camera_build.groups",
                          fmt::format("must be 1 to {}, with boards for each", build::max_camera_groups),
                          std::to_string(config.n_groups), "One per core that may receive.");
}

bool share_a_thread(const std::vector<ThreadPlan>& threads, Stage a, Stage b) {
    return std::any_of(threads.begin(), threads.end(), [=](const ThreadPlan& plan) {
        return std::count(plan.stages.begin(), plan.stages.end(), a) > 0 &&
               std::count(plan.stages.begin(), plan.stages.end(), b) > 0;
    });
}

}  // namespace

CameraNode::CameraNode(const CameraNodeConfig& config, const Clock& clock)
    : config_(config), clock_(clock), page_(config.counter_page) {
    validate(config);
    make_intakes();
    std::vector<build::CameraBuilder*> builders;
    std::vector<build::CameraIntake*> intakes;
    for (const auto& intake : intakes_) {
        builders.push_back(&intake->builder());
        intakes.push_back(intake.get());
    }
    watch_ = std::make_unique<CameraWatch>(intakes);
    joiner_ = std::make_unique<build::CameraJoiner>(config_.join, builders, clock_, page_);
    outlet_ = std::make_unique<CameraOutlet>(config_.send, *joiner_, config_.build.shape, clock_, page_);
}

CameraNode::~CameraNode() {
    stop();
}

void CameraNode::make_intakes() {
    const auto votes = std::make_shared<build::CameraVotes>(config_.build.shape.n_boards, config_.n_groups,
                                                            config_.build.window_events);
    const std::uint32_t n_boards = config_.build.shape.n_boards;
    const auto n_ports = static_cast<std::uint32_t>(config_.backend.ports.size());
    for (std::uint32_t group = 0; group < config_.n_groups; ++group) {
        const build::BoardRange boards = build::boards_of_group(n_boards, config_.n_groups, group);
        const Share share = share_of(boards, n_boards, n_ports);
        build::CameraIntakeConfig config{.builder = config_.build,
                                         .with_blocks = !share_a_thread(config_.threads, Stage::receive, Stage::build),
                                         .blocks = {},
                                         .batch_datagrams = datagrams_at_once(config_),
                                         .first_port = share.first_port};
        config.builder.group = group;
        config.builder.boards = boards;
        config.builder.stream_boards = share.port_boards;
        config.builder.votes = votes;
        config.blocks.memory = config_.build.memory;
        receive::BackendConfig backend = config_.backend;
        const auto first = config_.backend.ports.begin() + share.first_port;
        backend.notes = false;  // an event carries the times of its first and last fragment
        backend.batch_datagrams = datagrams_at_once(config_);
        backend.ports.assign(first, first + static_cast<std::ptrdiff_t>(share.port_boards.size()));
        intakes_.push_back(
            std::make_unique<build::CameraIntake>(config, receive::make_backend(backend, clock_), clock_, page_));
    }
}

WorkerThread* CameraNode::add_thread(std::string name, int core, int wake_descriptor,
                                     std::function<std::size_t()> do_work) {
    threads_.push_back(std::make_unique<WorkerThread>(ThreadConfig{.name = std::move(name),
                                                                   .core = core,
                                                                   .wait = config_.wait,
                                                                   .rest_below = rest_below_datagrams,
                                                                   .wake_descriptor = wake_descriptor,
                                                                   .can_be_woken = wake_descriptor < 0},
                                                      std::move(do_work)));
    return threads_.back().get();
}

/// Threads that receive or build exist once per group; only the first group's is pinned. A thread that also sends
/// belongs to the first group, which then is the only one. Made from the end of the way, so that each can wake the
/// next.
void CameraNode::add_threads() {
    WorkerThread* sender = nullptr;
    std::vector<WorkerThread*> builders(intakes_.size(), nullptr);
    for (auto plan = config_.threads.rbegin(); plan != config_.threads.rend(); ++plan) {
        if (plan->stages.front() == Stage::send) {
            sender =
                add_thread(plan->name, plan->core, -1, [this] { return outlet_->do_work() * rest_below_datagrams; });
            continue;
        }
        for (std::uint32_t group = 0; group < intakes_.size(); ++group)
            builders[group] = add_intake_thread(*plan, group, builders[group], sender);
    }
}

WorkerThread* CameraNode::add_intake_thread(const ThreadPlan& plan, std::uint32_t group, WorkerThread* builder,
                                            WorkerThread* sender) {
    build::CameraIntake& intake = *intakes_[group];
    const bool receives = plan.stages.front() == Stage::receive;
    const auto do_work = [this, &plan, &intake, group, builder, sender] {
        std::size_t n_done = 0;
        for (const Stage stage : plan.stages)
            if (stage != Stage::send || group == 0) n_done += work(stage, intake);
        if (builder != nullptr && intake.has_blocks()) builder->wake();
        if (sender != nullptr && intake.builder().has_parts()) sender->wake();
        return n_done;
    };
    return add_thread(group == 0 ? plan.name : fmt::format("{}.{}", receives ? "recv" : "build", group),
                      group == 0 ? plan.core : -1, receives ? intake.backend().descriptor() : -1, do_work);
}

std::size_t CameraNode::work(Stage stage, build::CameraIntake& intake) noexcept {
    switch (stage) {
        case Stage::receive:
            return intake.receive_work();
        case Stage::build:
            return intake.build_work();
        case Stage::send:
            return outlet_->do_work() * rest_below_datagrams;
        default:
            return 0;
    }
}

void CameraNode::start() {
    if (started_) return;
    started_ = true;
    add_threads();
    for (auto& thread : threads_) thread->start();
}

bool CameraNode::is_drained() const noexcept {
    for (const auto& intake : intakes_)
        if (!intake->is_drained()) return false;
    outlet_->drain();
    return outlet_->is_drained();
}

void CameraNode::stop() {
    if (!started_) return;
    started_ = false;
    for (auto& intake : intakes_) intake->drain();
    const auto begin = std::chrono::steady_clock::now();
    while (!is_drained() && std::chrono::steady_clock::now() < begin + drain_limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (std::chrono::steady_clock::now() > begin + subscribers_limit) outlet_->give_up_subscribers();
    }
    drain_timed_out_ = !is_drained();
    for (auto& thread : threads_) thread->stop();
    outlet_->close();
}

bool CameraNode::finished() const noexcept {
    if (config_.n_runs > 0 && joiner_->counters()[build::CameraJoinCounter::runs_ended] >= config_.n_runs) return true;
    return std::all_of(intakes_.begin(), intakes_.end(),
                       [](const auto& intake) { return intake->backend().finished(); });
}

std::vector<std::string> CameraNode::notices() {
    std::vector<std::string> lines = watch_->notices();
    for (std::string& line : outlet_->notices()) lines.push_back(std::move(line));
    if (drain_timed_out_)
        lines.push_back("draining took longer than 10 s: what was still on the way is not accounted for");
    return lines;
}

std::map<std::string, std::string> CameraNode::states() const {
    std::map<std::string, std::string> states = watch_->states();
    states["build"] = fmt::format(
        "{} in {} group{}", share_a_thread(config_.threads, Stage::receive, Stage::build) ? "two-stage" : "three-stage",
        intakes_.size(), intakes_.size() == 1 ? "" : "s");
    states["send"] = outlet_->describe();
    return states;
}

void CameraNode::for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use) {
    for (const auto& intake : intakes_) {
        const auto boards = intake->builder().config().boards;
        for (std::uint32_t board = boards.first; board < boards.first + boards.count; ++board)
            use(board, intake->builder().close_sequence_log(board));
    }
}

}  // namespace anello::pipeline
