// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/boards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "camera/chain/shares.hpp"
#include "core/errors.hpp"

namespace anello::camera {
namespace {

/// The ports of one group, and the boards that send to each.
struct Share {
    std::uint32_t first_port = 0;
    std::vector<BoardRange> port_boards;
};

Share share_of(const BoardRange& group, std::uint32_t n_boards, std::uint32_t n_ports) {
    Share share;
    for (std::uint32_t port = 0; port < n_ports; ++port) {
        const BoardRange boards = boards_of_port(n_boards, n_ports, port);
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
    if (config.n_groups == 0 || config.n_groups > max_camera_groups ||
        boards_of_group(n_boards, config.n_groups, config.n_groups - 1).count == 0)
        throw ConfigError("camera_build.groups",
                          fmt::format("must be 1 to {}, with boards for each", max_camera_groups),
                          std::to_string(config.n_groups), "One per core that may receive.");
}

/// True if one thread runs receive and build; false if they have two (three-stage).
bool is_two_stage(const CameraNodeConfig& config) {
    return std::ranges::any_of(
        config.threads, [](const pipeline::ThreadPlan& plan) { return plan.has("receive") && plan.has("build"); });
}

std::vector<CameraIntake*> pointers_to(const CameraBoards::Intakes& intakes) {
    std::vector<CameraIntake*> pointers;
    for (const auto& intake : intakes) pointers.push_back(intake.get());
    return pointers;
}

}  // namespace

std::unique_ptr<CameraIntake> make_intake(const CameraNodeConfig& config, CameraBuilderConfig builder,
                                          std::uint32_t first_port, const Clock& clock, CounterPage& page) {
    receive::BackendConfig backend = config.backend;
    const auto first = config.backend.ports.begin() + first_port;
    backend.notes = false;  // an event carries the times of its first and last fragment
    backend.ports.assign(first, first + static_cast<std::ptrdiff_t>(builder.stream_boards.size()));
    CameraIntakeConfig intake{.builder = std::move(builder),
                              .with_blocks = !is_two_stage(config),
                              .blocks = {},
                              .batch_datagrams = config.backend.batch_datagrams,
                              .first_port = first_port};
    intake.blocks.memory = config.build.memory;
    return std::make_unique<CameraIntake>(intake, receive::make_backend(backend, clock, &page), clock, page);
}

CameraBoards::Intakes make_intakes(const CameraNodeConfig& config, const Clock& clock, CounterPage& page) {
    validate(config);
    const std::uint32_t n_boards = config.build.shape.n_boards;
    const auto n_ports = static_cast<std::uint32_t>(config.backend.ports.size());
    const auto votes = std::make_shared<CameraVotes>(n_boards, config.n_groups, config.build.window_events);
    CameraBoards::Intakes intakes;
    for (std::uint32_t group = 0; group < config.n_groups; ++group) {
        CameraBuilderConfig builder = config.build;
        builder.group = group;
        builder.boards = boards_of_group(n_boards, config.n_groups, group);
        builder.votes = votes;
        Share share = share_of(builder.boards, n_boards, n_ports);
        builder.stream_boards = std::move(share.port_boards);
        intakes.push_back(make_intake(config, std::move(builder), share.first_port, clock, page));
    }
    return intakes;
}

CameraBoards::CameraBoards(const CameraNodeConfig& config, Intakes intakes)
    : is_two_stage_(is_two_stage(config)), intakes_(std::move(intakes)), watch_(pointers_to(intakes_)) {}

pipeline::Stage CameraBoards::receive_stage() {
    return {.name = "receive",
            .n_lanes = n_groups(),
            .do_work =
                [this](std::uint32_t group) {
                    return pipeline::reading_work(intakes_[group]->backend(), intakes_[group]->receive_work());
                },
            .rest_below = pipeline::rest_below_datagrams,
            .wake_descriptor = [this](std::uint32_t group) { return intakes_[group]->backend().descriptor(); },
            .longest_wait_ns = [this](std::uint32_t group) { return intakes_[group]->receive_wait_ns(); },
            .drain =
                [this] {
                    for (auto& intake : intakes_) intake->drain();
                },
            .add_notices = [this](pipeline::Notices& notices) { pipeline::append(watch_.notices(), notices); },
            .add_states = [this](pipeline::States& states) { states.merge(watch_.states()); }};
}

pipeline::Stage CameraBoards::build_stage() {
    return {.name = "build",
            .n_lanes = n_groups(),
            .do_work = [this](std::uint32_t group) { return intakes_[group]->build_work(); },
            .rest_below = pipeline::rest_below_datagrams,
            .has_input = [this](std::uint32_t group) { return intakes_[group]->has_blocks(); },
            .longest_wait_ns = [this](std::uint32_t group) { return intakes_[group]->build_wait_ns(); },
            .is_drained = [this] { return is_drained(); },
            .add_states =
                [this](pipeline::States& states) {
                    states["build"] = fmt::format("{} in {} group{}", is_two_stage_ ? "two-stage" : "three-stage",
                                                  n_groups(), n_groups() == 1 ? "" : "s");
                },
            .add_buffers = [this](pipeline::BufferLevels& levels) { add_buffers(levels["build"]); }};
}

void CameraBoards::add_buffers(pipeline::BufferLevel& level) const noexcept {
    for (const auto& intake : intakes_) {
        level.n_buffers += intake->builder().output().memory().n_buffers();
        level.n_free += intake->builder().output().n_free();
    }
}

std::vector<CameraBuilder*> CameraBoards::builders() const {
    std::vector<CameraBuilder*> builders;
    for (const auto& intake : intakes_) builders.push_back(&intake->builder());
    return builders;
}

bool CameraBoards::is_drained() const noexcept {
    return std::ranges::all_of(intakes_, [](const auto& intake) { return intake->is_drained(); });
}

bool CameraBoards::finished() const noexcept {
    return std::ranges::all_of(intakes_, [](const auto& intake) { return intake->backend().finished(); });
}

}  // namespace anello::camera
