// SPDX-License-Identifier: Apache-2.0
#include "pipeline/exchange_node.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "core/errors.hpp"
#include "exchange/messages/own_messages.hpp"
#include "store/mep_writer.hpp"
#include "wire/bytes.hpp"

namespace anello::pipeline {
namespace {

constexpr std::size_t life_bytes = sizeof(std::uint64_t);  // of an address, before the fabric's part
/// PERF NOTE: number of steps without work before a thread sleeps. With more nodes than cores, each step takes time
/// from a node that has work.
constexpr std::uint32_t n_idle_steps = 20;
constexpr Nanoseconds drain_ns = 5'000'000'000;

void check_address(std::span<const std::byte> address) {
    if (address.size() < life_bytes)
        throw ConfigError("address", "must be the address of a node of the exchange",
                          fmt::format("{} bytes", address.size()), "Pass what that node's address() gives.");
}

bool is_alone(const ThreadPlan& plan, std::string_view stage) {
    return plan.stages.size() == 1 && plan.has(stage);
}

void validate(const ExchangeNodeConfig& config) {
    const std::size_t n_threads = config.threads.size();
    if (n_threads != 1 && !(n_threads == 2 && is_alone(config.threads.front(), "generator")))
        throw ConfigError(
            "threads.layout",
            "may have only the generator on its own thread; the units share the thread of their fabric",
            fmt::format("{} threads", n_threads),
            "Use [\"generator+readout+builder+manager\"] or [\"generator\", \"readout+builder+manager\"].");
    if (config.n_buffers < 2)
        throw ConfigError("generator.n_buffers", "must be 2 or more", std::to_string(config.n_buffers),
                          "The default is 64.");
    if (config.make_input &&
        (config.max_mfp_bytes < wire::mfp::header_bytes || config.max_mfp_bytes > config.fabric.max_message_bytes))
        throw ConfigError("fabric.max_message_bytes", fmt::format("must be at least {}", config.max_mfp_bytes),
                          std::to_string(config.fabric.max_message_bytes), "Raise it, or lower exchange.packing.");
    if (!config.make_input && config.fabric.max_message_bytes < config.generator.max_mfp_bytes())
        throw ConfigError("fabric.max_message_bytes",
                          fmt::format("must be at least {}: {} fragments of {} bytes", config.generator.max_mfp_bytes(),
                                      config.generator.packing, config.generator.fragment_max_bytes),
                          std::to_string(config.fabric.max_message_bytes), "Raise it, or lower exchange.packing.");
}

}  // namespace

ExchangeNode::ExchangeNode(const ExchangeNodeConfig& config, const Clock& clock)
    : config_((validate(config), config)),
      clock_(clock),
      page_(config.page),
      seen_(config.exchange.farm.n_nodes(), exchange::NodeState::connecting),
      reported_manager_(config.exchange.farm.manager) {
    make_units(clock);
    make_fabric(clock);
    make_chain();
    runner_.tell_in(page_);
}

ExchangeNode::~ExchangeNode() {
    abort();
    if (sink_) sink_->close();  // because it reads from the builder's memory
}

void ExchangeNode::make_units(const Clock& clock) {
    exchange::ExchangeConfig& exchange = config_.exchange;
    exchange.max_mfp_bytes = config_.make_input ? config_.max_mfp_bytes : config_.generator.max_mfp_bytes();
    exchange.validate();
    if (exchange.is_readout()) make_source(clock);
    if (exchange.is_builder()) {
        make_sink(clock);
        make_publisher(clock);
    }
    station_ = std::make_unique<exchange::Station>(exchange, config_.memory, ring_.get(), sink_.get(), clock, page_);
}

void ExchangeNode::make_source(const Clock& clock) {
    const exchange::ExchangeConfig& exchange = config_.exchange;
    ring_ = std::make_unique<exchange::MfpRing>(memory::BuffersConfig{
        .n_buffers = config_.n_buffers, .buffer_bytes = exchange.max_mfp_bytes, .kind = config_.memory});
    if (config_.make_input) {
        input_ = config_.make_input(exchange, *ring_, clock, page_);
        source_apart_ = true;
        return;
    }
    source_apart_ = config_.threads.size() == 2;
    config_.generator.source_id = exchange.farm.readout_of[exchange.self];
    generator_ = std::make_unique<exchange::Generator>(config_.generator, *ring_, clock, page_);
}

void ExchangeNode::make_sink(const Clock& clock) {
    const exchange::ExchangeConfig& exchange = config_.exchange;
    if (config_.make_output) {
        auto output = config_.make_output(exchange, clock, page_);
        output_ = output.get();
        sink_ = std::move(output);
    } else if (config_.file.empty()) {
        sink_ = std::make_unique<exchange::DiscardingSink>(exchange.n_credits);
    } else {
        sink_ = std::make_unique<store::MepWriter>(
            store::MepWriterConfig{.path = config_.file,
                                   .n_slots = exchange.n_credits,
                                   .n_readouts = static_cast<std::uint32_t>(exchange.farm.readouts.size()),
                                   .packing = exchange.packing,
                                   .run_id = exchange.run_id,
                                   .rules = {.max_bytes = config_.max_file_bytes}},
            page_);
    }
}

void ExchangeNode::make_publisher(const Clock& clock) {
    if (!config_.publish.is_on()) return;
    const exchange::ExchangeConfig& exchange = config_.exchange;
    auto publisher = std::make_unique<publish::MepPublisher>(
        config_.publish,
        publish::MepRecord(static_cast<std::uint32_t>(exchange.farm.readouts.size()), exchange.max_mfp_bytes,
                           exchange.run_id),
        std::move(sink_), clock, page_);
    publisher_ = publisher.get();
    sink_ = std::move(publisher);
}

void ExchangeNode::make_fabric(const Clock& clock) {
    fabric_ = std::make_unique<exchange::OwnMessages>(
        config_.make_fabric(config_.fabric, station_->listener(), clock,
                            page_.add_block<fabric::FabricCounter>("fabric")),
        config_.exchange.self, config_.fabric.max_in_flight, station_->listener());
    station_->join(*fabric_);
    station_->connect(config_.exchange.self, station_->life(), fabric_->address());
}

std::vector<std::byte> ExchangeNode::address() const {
    std::vector<std::byte> bytes(life_bytes);
    wire::store_le(bytes.data(), station_->life());
    const std::vector<std::byte> of_fabric = fabric_->address();
    bytes.insert(bytes.end(), of_fabric.begin(), of_fabric.end());
    return bytes;
}

void ExchangeNode::connect_now(exchange::Node node, std::span<const std::byte> address) {
    station_->connect(node, wire::load_le<std::uint64_t>(address.data()), address.subspan(life_bytes));
}

void ExchangeNode::connect(exchange::Node node, std::vector<std::byte> address) {
    if (node >= seen_.size())
        throw ConfigError("node", "must be below the number of nodes", std::to_string(node), "Nodes count from 0.");
    if (node == config_.exchange.self) return;  // a node is not connected with itself
    check_address(address);
    if (!started_) {
        known_[node] = std::move(address);
        return;
    }
    command([this, node, bytes = std::move(address)] {
        try {
            connect_now(node, bytes);
        } catch (const std::exception& error) {
            const std::lock_guard lock(mutex_);
            command_errors_.push_back(
                {fmt::format("node {} cannot be connected: {}", node, error.what()), Severity::bad});
        }
    });
}

void ExchangeNode::disconnect(exchange::Node node) {
    if (node >= seen_.size() || node == config_.exchange.self) return;
    known_.erase(node);
    command([this, node] { station_->lose(node, exchange::NodeState::reported_gone); });
}

/// The fabric's thread executes the command, or the caller if there is no such thread.
void ExchangeNode::command(std::function<void()> command) {
    if (!started_) return command();
    {
        const std::lock_guard lock(mutex_);
        commands_.push_back(std::move(command));
    }
    has_commands_.store(true, std::memory_order_release);  // pairs with work()
    fabric_->wake();
}

void ExchangeNode::run_commands() noexcept {
    std::vector<std::function<void()>> commands;
    {
        const std::lock_guard lock(mutex_);
        commands.swap(commands_);
        has_commands_.store(false, std::memory_order_relaxed);
    }
    for (const auto& command : commands) command();
}

// --- The chain

/// In the order of the data's way, except that the end of the run comes first, since nothing drains before it.
void ExchangeNode::make_chain() {
    runner_.add({.stages = {run_stage()}, .threads = {}});
    if (input_) runner_.add(input_->part());
    if (generator_ && source_apart_) runner_.add(generator_part());
    runner_.add(exchange_part());
    if (output_ != nullptr) runner_.add(output_->part());
}

Stage ExchangeNode::run_stage() {
    const exchange::ExchangeConfig& exchange = config_.exchange;
    return {.name = "manager",
            .drain =
                [this] {
                    if (!aborted_ && !finished()) command([this] { station_->request_end(); });
                },
            .is_drained = [this] { return aborted_ || finished(); },
            .patience_ns = drain_ns + 2 * (exchange.timeout_ns + exchange.peer_timeout_ns)};
}

ChainPart ExchangeNode::generator_part() {
    return {{{.name = "generator",
              .do_work = [this](std::uint32_t) { return generator_->do_work(); },
              .longest_wait_ns = [this](std::uint32_t) { return generator_->longest_wait_ns(); }}},
            config_.threads,
            config_.wait};
}

/// The units, and the sink for built events. Their thread ends before the later stages drain.
ChainPart ExchangeNode::exchange_part() {
    ThreadPlan plan{.name = fmt::format("exchange.{}", config_.exchange.self),
                    .stages = {"exchange"},
                    .cores = config_.threads.back().cores};
    Stage exchange{.name = "exchange",
                   .do_work = [this](std::uint32_t) { return work(); },
                   .wake = [this] { wake_units(); },
                   .is_drained = [] { return true; },
                   .close = [this] { end_units(); },
                   .add_notices = [this](Notices& notices) { add_notices(notices); },
                   .add_states = [this](States& states) { add_states(states); },
                   .add_buffers = [this](BufferLevels& levels) { add_buffers(levels); }};
    if (source_apart_)
        exchange.has_input = [this](std::uint32_t) {
            const std::uint64_t passed = ring_->passed();
            return passed != std::exchange(passed_, passed);
        };
    ChainPart part{.stages = {std::move(exchange)}, .threads = {std::move(plan)}, .wait = config_.wait};
    if (sink_) part.stages.push_back(sink_stage());
    return part;
}

Stage ExchangeNode::sink_stage() {
    Stage stage{.name = "sink",
                .close = [this] { sink_->close(); },
                .add_notices = [this](Notices& notices) { append(sink_->notices(), notices); }};
    if (publisher_ == nullptr) return stage;
    stage.give_up_subscribers = [this] { publisher_->publisher().give_up(); };
    stage.add_states = [this](States& states) { states["publish"] = publisher_->publisher().describe(); };
    return stage;
}

void ExchangeNode::start() {
    if (started_ || aborted_) return;
    write_fabric_words();
    station_->begin();
    for (const auto& [node, address] : known_) connect_now(node, address);
    known_.clear();
    started_ = true;  // from now on the threads execute commands
    try {
        runner_.start();
    } catch (...) {
        started_ = false;
        throw;
    }
}

// Hot path: no allocation, no lock, no log, no throw.
std::size_t ExchangeNode::work() noexcept {
    if (has_commands_.load(std::memory_order_acquire)) run_commands();  // pairs with command()
    if (words_wanted_.load(std::memory_order_relaxed) && words_wanted_.exchange(false, std::memory_order_acquire))
        write_fabric_words();  // pairs with fabric_words()
    std::size_t n_done = generator_ != nullptr && !source_apart_ ? generator_->do_work() : 0;
    n_done += station_->do_work();
    if (n_done > 0) {
        n_idle_ = 0;
    } else if (config_.wait == WaitPolicy::sleep && ++n_idle_ > n_idle_steps) {
        wait_for_work();
        return 1;  // work() has already waited
    } else {
        std::this_thread::yield();
        return 1;
    }
    return n_done;
}

void ExchangeNode::wake_units() noexcept {
    if (sleeping_.exchange(false)) fabric_->wake();
}

void ExchangeNode::wait_for_work() noexcept {
    sleeping_.store(true);  // set before the last look, so that a thread that gives us work afterwards sees it
    const bool has_work = source_apart_ && station_->do_work() > 0;
    if (!has_work && fabric_->arm()) {
        Nanoseconds due_ns = station_->next_due_ns();
        if (generator_ != nullptr && !source_apart_) due_ns = std::min(due_ns, generator_->next_due_ns());
        // Serves the fabric well within each heartbeat.
        const Nanoseconds longest_ns = std::min(longest_idle_ns, config_.fabric.heartbeat_ns / 4);
        const Nanoseconds left_ns = std::clamp<Nanoseconds>(due_ns - clock_.monotonic_ns(), 0, longest_ns);
        const timespec timeout{0, static_cast<long>(left_ns)};
        pollfd descriptor{.fd = fabric_->descriptor(), .events = POLLIN, .revents = 0};
        if (left_ns > 0) ppoll(&descriptor, 1, &timeout, nullptr);
        station_->count_sleep();
    }
    sleeping_.store(false);
}

/// Called once their thread has ended.
void ExchangeNode::end_units() {
    started_ = false;
    run_commands();
    station_->settle();
    if (aborted_) leave();
}

void ExchangeNode::abort() {
    aborted_ = true;
    runner_.stop();
    if (!has_left_) leave();
}

void ExchangeNode::leave() {
    has_left_ = true;
    for (std::size_t node = 0; node < seen_.size(); ++node) fabric_->disconnect(static_cast<exchange::Node>(node));
}

std::string ExchangeNode::failure() const {
    if (runner_.stuck_stage() == "manager") return "the run did not end in time: not all data is accounted for";
    return finished() ? station_->failure() : "";
}

std::vector<std::uint16_t> ExchangeNode::ports() const {
    return input_ ? input_->ports() : std::vector<std::uint16_t>{};
}

std::map<std::string, std::uint64_t> ExchangeNode::progress() const {
    using exchange::BuilderCounter;
    std::map<std::string, std::uint64_t> progress{{"meps_built", 0}, {"meps_incomplete", 0}, {"bytes_built", 0}};
    if (const exchange::BuilderUnit* builder = station_->builder()) {
        const auto& counters = builder->counters();
        progress["meps_incomplete"] = counters[BuilderCounter::meps_incomplete];
        progress["meps_built"] = counters[BuilderCounter::meps_complete] + progress["meps_incomplete"];
        progress["bytes_built"] = counters[BuilderCounter::bytes_built];
        progress["credits_free"] = config_.exchange.n_credits - counters[BuilderCounter::slots_used];
    }
    if (const exchange::ReadoutUnit* readout = station_->readout())
        progress["mfps_sent"] = readout->counters()[exchange::ReadoutCounter::mfps_sent];
    return progress;
}

/// Only the fabric's own thread knows the states of its links. This returns what that thread last wrote, and requests
/// new text from it.
std::string ExchangeNode::fabric_words() const {
    if (!started_) return fabric_->describe();
    words_wanted_.store(true, std::memory_order_release);  // pairs with work()
    fabric_->wake();
    const std::lock_guard lock(mutex_);
    return fabric_words_;
}

void ExchangeNode::write_fabric_words() {
    std::string words = fabric_->describe();
    const std::lock_guard lock(mutex_);
    fabric_words_ = std::move(words);
}

void ExchangeNode::add_buffers(BufferLevels& levels) const {
    if (ring_) levels["readout"] = {ring_->n_buffers(), ring_->n_free()};
    const exchange::BuilderUnit* const builder = station_->builder();
    if (builder == nullptr) return;
    const std::uint64_t n_slots = config_.exchange.n_credits;
    levels["builder"] = {n_slots, n_slots - builder->counters()[exchange::BuilderCounter::slots_used]};
}

void ExchangeNode::add_states(States& states) const {
    for (exchange::Node node = 0; node < seen_.size(); ++node)
        states[fmt::format("node{}", node)] = exchange::name_of(station_->seen(node));
    states["fabric"] = fabric_words();
    if (const exchange::BuilderUnit* builder = station_->builder()) states["builder"] = builder->describe();
}

void ExchangeNode::add_notices(Notices& notices) {
    for (exchange::Node node = 0; node < seen_.size(); ++node) {
        const exchange::NodeState now = station_->seen(node);
        const exchange::NodeState before = std::exchange(seen_[node], now);
        const bool is_first = before == exchange::NodeState::connecting && now == exchange::NodeState::up;
        if (now != before && !is_first && !finished())
            notices.push_back({fmt::format("node {} is {}", node, exchange::name_of(now)),
                               now == exchange::NodeState::up ? Severity::info : Severity::bad});
    }
    const exchange::Node manager = station_->manager_node();
    if (manager != std::exchange(reported_manager_, manager))
        notices.push_back({fmt::format("node {} is, or will be, the event manager", manager), Severity::warning});
    if (const std::string why = failure(); !why.empty() && !std::exchange(is_failure_reported_, true))
        notices.push_back({why, Severity::bad});
    const std::lock_guard lock(mutex_);
    append(std::exchange(command_errors_, {}), notices);
}

}  // namespace anello::pipeline
