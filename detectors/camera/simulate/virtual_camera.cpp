// SPDX-License-Identifier: Apache-2.0
#include "camera/simulate/virtual_camera.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "pipeline/layout.hpp"
#include "simulate/counted.hpp"
#include "simulate/world/stored_columns.hpp"
#include "wire/payload_pattern.hpp"

namespace anello::camera {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr const char* events_file = "events.h5";
constexpr WaveformShape waveforms{.n_boards = VirtualCamera::n_boards, .n_pixels = 7, .n_gains = 2, .n_samples = 40};

/// When half of these fragments had arrived; 0: they did not.
Nanoseconds half_of(std::span<const Nanoseconds> came_ns) {
    std::vector<Nanoseconds> times;
    std::ranges::copy_if(came_ns, std::back_inserter(times), [](Nanoseconds at_ns) { return at_ns != 0; });
    std::ranges::sort(times);
    return 2 * times.size() < came_ns.size() ? 0 : times[(came_ns.size() + 1) / 2 - 1];
}

}  // namespace

/// The joined events; each is checked when it is taken.
class VirtualCamera::Watched final : public CameraEvents {
  public:
    explicit Watched(VirtualCamera& camera) : camera_(camera) {}
    bool try_take(CameraEventView& view) noexcept override {
        if (!camera_.joiner_.try_take(view)) return false;
        camera_.take(view);
        return true;
    }
    void release(const CameraEventView& view) noexcept override { camera_.joiner_.release(view); }
    bool is_empty() const noexcept override { return camera_.joiner_.is_empty(); }

  private:
    VirtualCamera& camera_;
};

Nanoseconds VirtualCamera::Event::half_came_ns() const {
    return half_of(came_ns);
}

Nanoseconds VirtualCamera::Event::first_came_ns() const noexcept {
    Nanoseconds first_ns = last_came_ns();
    for (const Nanoseconds at_ns : came_ns)
        if (at_ns != 0) first_ns = std::min(first_ns, at_ns);
    return first_ns;
}

VirtualCamera::VirtualCamera(const CameraScenario& scenario)
    : scenario_(scenario),
      host_(scenario.troubles.host, world_),
      board_host_(scenario.troubles.front_ends, world_),
      wire_(scenario.troubles.wire, world_),
      changed_(scenario.troubles.boards, wire_, world_),
      disk_(scenario.troubles.disk, world_, [this](Nanoseconds until_ns) { host_.block_until(until_ns); }),
      config_(node_config()),
      boards_(config_, make_intakes(config_, world_, page_)),
      joiner_(config_.join, boards_.builders(), world_, page_),
      watched_(std::make_unique<Watched>(*this)),
      outlet_(std::make_unique<CameraOutlet>(config_.send, *watched_, config_.build.shape, world_, page_)),
      runner_(world_, host_) {
    disk_.be_slower(scenario.troubles.disk_slowness);
    wire_.watch([this](std::uint32_t board, std::span<const std::byte> datagram) { see(board, datagram); });
    std::vector<pipeline::Stage> stages{boards_.receive_stage(), boards_.build_stage()};
    std::ranges::move(
        outlet_->stages([this](std::uint32_t group) { return boards_.intake(group).builder().output().has_parts(); }),
        std::back_inserter(stages));
    runner_.add({std::move(stages), config_.threads, config_.wait});
    const CameraSourceConfig sent = source_config();
    pool_ = std::make_unique<CameraPool>(sent);
    source_ = std::make_unique<CameraSource>(sent, *pool_, changed_, world_, sent_page_);
    sender_ = board_host_.make({.name = "boards"}, [this] { return source_->running() ? source_->do_work() : 0; });
}

VirtualCamera::~VirtualCamera() {
    runner_.stop();
}

CameraNodeConfig VirtualCamera::node_config() {
    CameraNodeConfig config;
    config.n_runs = 1;
    config.backend.ports.assign(n_boards, 0);
    config.backend.make = [this](const receive::BackendConfig& backend) {
        return wire_.make_backend(backend, [this](int descriptor) { host_.notify(descriptor); });
    };
    config.build.shape = {.n_boards = n_boards, .max_payload_bytes = waveforms.payload_bytes()};
    config.build.window_events = scenario_.window_events;
    config.build.n_events = scenario_.n_buffers;
    config.build.timeout_ns = scenario_.timeout_ns;
    config.n_groups = scenario_.n_groups;
    config.join.timeout_ns = 2 * scenario_.timeout_ns;
    config.send.integrator.n_boards = n_boards;
    config.send.integrator.n_samples = waveforms.n_samples;
    config.send.filter.fraction = 0.25;
    if (scenario_.stores) config.send.file = events_file;
    config.send.rules = {.max_bytes = scenario_.max_file_bytes, .disk = &disk_};
    config.threads = pipeline::parse_layout(scenario_.layout, {}, camera_chain);
    return config;
}

CameraSourceConfig VirtualCamera::source_config() const {
    CameraSourceConfig config;
    config.shape = waveforms;
    config.ports.assign(n_boards, 1);
    config.seed = scenario_.troubles.seed;
    config.rate_hz = scenario_.rate_hz;
    config.spread_us = scenario_.spread_us;
    config.n_events = scenario_.n_events;
    config.payload = CameraPayload::pattern;
    config.pool_events = 4;
    config.faults = scenario_.troubles.faults;
    return config;
}

void VirtualCamera::see(std::uint32_t board, std::span<const std::byte> datagram) {
    wire::camera::Header header;
    if (wire::camera::parse(datagram, header) != wire::Verdict::ok || header.is_marker()) return;
    if (wire::camera::verify(datagram, header) != wire::Verdict::ok) return;
    if (!fragments_[board].take(header.sequence, wire::crc32c(datagram))) return;  // not used, whatever it holds
    const std::uint32_t number = unwrapped(header.event_number);
    Event& event = events_[number];
    event.came_ns[board] = world_.monotonic_ns();
    event.times_ns[board] = header.timestamp_ns;
    if (event.n_taken == 0) event.timestamp_ns = header.timestamp_ns;
    event.trigger_tag = header.trigger_tag;
    if (number < last_number_[board]) event.overtaken.add(board);
    last_number_[board] = std::max(last_number_[board], number);
}

void VirtualCamera::take(const CameraEventView& view) {
    const std::uint32_t number = unwrapped(view.event_number);
    Event& event = events_[number];
    if (number < last_taken_) wrong_.push_back(fmt::format("event {} was taken after event {}", number, last_taken_));
    last_taken_ = number;
    event.present = view.present;
    event.taken_ns = world_.monotonic_ns();
    ++event.n_taken;
    if (!is_time_of(view, event) || view.trigger_tag != event.trigger_tag)
        wrong_.push_back(fmt::format("event {} has the time {} and the tag {}, and its boards sent others", number,
                                     view.timestamp_ns, view.trigger_tag));
    event.timestamp_ns = view.timestamp_ns;
    for (std::uint32_t board = 0; board < n_boards; ++board)
        if (view.present.contains(board)) check_slot(view, board, event);
}

/// True if the event has the time of one of its fragments, and this agrees with a time that more than half of them
/// have.
bool VirtualCamera::is_time_of(const CameraEventView& view, const Event& event) {
    std::map<std::uint64_t, std::uint32_t> n_of_time;
    for (std::uint32_t board = 0; board < n_boards; ++board)
        if (view.present.contains(board)) ++n_of_time[event.times_ns[board]];
    const auto most = std::ranges::max_element(n_of_time, {}, [](const auto& one) { return one.second; });
    const bool is_of_most = most != n_of_time.end() && 2 * most->second > view.n_present;
    return n_of_time.contains(view.timestamp_ns) && (!is_of_most || is_same_time(most->first, view.timestamp_ns));
}

void VirtualCamera::check_slot(const CameraEventView& view, std::uint32_t board, const Event& event) {
    wire::camera::Header header;
    const std::span slot(view.slot(board), view.shape.slot_bytes());
    const bool is_its = wire::camera::parse(slot.first(wire::camera::header_bytes + waveforms.payload_bytes()),
                                            header) == wire::Verdict::ok &&
                        header.board == board && header.event_number == view.event_number &&
                        header.timestamp_ns == event.times_ns[board] &&
                        wire::has_pattern({view.payload(board), header.payload_bytes}, header.board, view.event_number);
    const std::uint32_t number = unwrapped(view.event_number);
    if (!is_its) wrong_.push_back(fmt::format("event {} has something else in the place of board {}", number, board));
    if (event.came_ns[board] == 0)
        wrong_.push_back(fmt::format("event {} has board {}, of which nothing came", number, board));
}

/// Runs until the run has ended for the node, or one second after the last datagram.
void VirtualCamera::run() {
    runner_.start();
    sender_->start();
    const auto has_ended = [this] { return joiner_.counters()[CameraJoinCounter::runs_ended] >= 1; };
    for (int n_after_ms = 0; !has_ended() && n_after_ms < 1'000; n_after_ms += source_->running() ? 0 : 1) {
        act(scenario_.troubles, host_, wire_, disk_, world_);
        world_.run_until(world_.monotonic_ns() + ms);
    }
    finished_ = has_ended();
    runner_.stop();
    if (!runner_.stuck_stage().empty())
        wrong_.push_back("draining took too long at the stage " + runner_.stuck_stage());
}

CameraScenario VirtualCamera::drawn(std::uint64_t seed) {
    source::Random dice(seed, 0x63616d);
    const std::array<std::vector<std::string>, 4> layouts{{{"receive+build+filter", "send"},
                                                           {"receive", "build+filter", "send"},
                                                           {"receive+build", "filter", "send"},
                                                           {"receive", "build", "filter", "send"}}};
    const auto one_in = [&](std::uint32_t n) { return dice.below(n) == 0; };
    CameraScenario scenario;
    simulate::ChainTroubles& troubles = scenario.troubles;
    troubles.seed = troubles.host.seed = troubles.front_ends.seed = troubles.wire.seed = seed;
    scenario.layout = layouts[dice.below(layouts.size())];
    scenario.n_groups = 1 + dice.below(3);
    scenario.rate_hz = 200 * (1 + dice.below(25));
    scenario.spread_us = dice.below(300);
    scenario.n_events = 20 + dice.below(150);
    scenario.timeout_ns = (4 + dice.below(60)) * ms;
    const simulate::TroubleLimits limits{.n_boards = VirtualCamera::n_boards,
                                         .n_steps = 100,
                                         .jitter_ms = 0.3,
                                         .begin_ms = 60,
                                         .link_ms = 60,
                                         .least_buffer_bytes = 60'000,
                                         .more_buffer_bytes = 400'000,
                                         .loss = 0.05,
                                         .damage = 0.05};
    simulate::draw(troubles, limits, dice);
    simulate::draw(troubles.boards, VirtualCamera::n_boards, 60, seed);
    troubles.boards.restarts_steps = false;  // event numbers are those of the camera's trigger
    scenario.stores = one_in(3);
    if (one_in(2)) scenario.max_file_bytes = 20'000 + dice.below(2'000'000);
    return scenario;
}

const std::vector<simulate::Assignable<CameraScenario>>& VirtualCamera::assignables() {
    using S = CameraScenario;
    static const std::vector<simulate::Assignable<S>> all = simulate::chain_assignables<S>(
        [](const std::vector<std::string>& layout) { pipeline::parse_layout(layout, {}, camera_chain); },
        {
            simulate::number<S>("n_groups", 1, n_boards, &S::n_groups),
            simulate::number<S>("rate_hz", 1, 1e6, &S::rate_hz),
            simulate::number<S>("spread_us", 0, 1e6, &S::spread_us),
            simulate::number<S>("n_events", 1, 1e6, &S::n_events),
            simulate::number<S>("window_events", 1, 65'536, &S::window_events),
            simulate::number<S>("n_buffers", 2, 65'536, &S::n_buffers),
            simulate::number<S>("timeout_ns", 1e5, 1e12, &S::timeout_ns),
            simulate::number<S>("stores", 0, 1, &S::stores),
            simulate::number<S>("max_file_bytes", 0, 1e15, &S::max_file_bytes),
        });
    return all;
}

std::vector<std::string> VirtualCamera::lanes() {
    return simulate::lane_names(n_boards, "taken");
}

std::uint64_t VirtualCamera::count(const std::string& block, const std::string& name) const {
    return simulate::counted(page_, block, name);
}

std::uint64_t VirtualCamera::n_made() const {
    return simulate::counted(sent_page_, "source", "events");
}

/// The counters and lists of the front ends do not know of changes on the way, so that no ledger can be made of a
/// camera whose boards have begun anew.
simulate::ChainBooks VirtualCamera::books() {
    const bool has_books = finished_ && scenario_.troubles.boards.n_rebooting == 0;
    simulate::ChainBooks books{has_books, page_.read(), sent_page_.read(), {}, {}};
    for (CameraBuilder* const builder : boards_.builders()) {
        const BoardRange boards = builder->config().boards;
        for (std::uint32_t board = boards.first; board < boards.first + boards.count; ++board) {
            books.made.push_back(source_->sent_log(board));
            books.came.push_back(builder->close_sequence_log(board));
        }
    }
    return books;
}

std::uint64_t VirtualCamera::n_decided() const noexcept {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(events_, [](const auto& one) { return one.second.n_taken > 0; }));
}

std::vector<simulate::TraceLine> VirtualCamera::trace(std::size_t max_messages) const {
    simulate::ChainTrace trace(scenario_.troubles, n_boards, max_messages);
    for (const auto& [number, event] : events_) {
        const std::string name = fmt::format("event {}", number);
        std::vector<std::uint16_t> absent;
        for (std::uint16_t board = 0; board < n_boards; ++board)
            if (!event.present.contains(board))
                absent.push_back(board);
            else
                trace.add_message(event.came_ns[board], event.taken_ns, board, name);
        if (event.n_taken > 0) trace.add_built(event.taken_ns, name, absent);
    }
    return trace.lines();
}

std::string describe(const CameraScenario& scenario) {
    return fmt::format("{}, {} groups; {} events at {} Hz within {} us; timeout {} ms{}",
                       fmt::join(scenario.layout, " | "), scenario.n_groups, scenario.n_events, scenario.rate_hz,
                       scenario.spread_us, scenario.timeout_ns / ms,
                       scenario.stores ? fmt::format("; stored in files of {} bytes", scenario.max_file_bytes) : "");
}

namespace {

constexpr Nanoseconds apart_ns = ms;  // largest difference of boards on the wire

/// When half of this board's group had arrived; 0: a group with fewer may have dropped the event.
Nanoseconds half_of_group_ns(const VirtualCamera::Event& event, std::uint32_t board, std::uint32_t n_groups) {
    for (std::uint32_t number = 0; number < n_groups; ++number) {
        const BoardRange group = boards_of_group(VirtualCamera::n_boards, n_groups, number);
        if (group.contains(board)) return half_of(std::span(event.came_ns).subspan(group.first, group.count));
    }
    return 0;
}

/// A board whose link was cut. In the datagrams that lie unread after a pause it is ahead of the others, perhaps by
/// more than a window: then the window moves to where half of the boards have been read, and other boards are late.
bool is_disturbed(const simulate::ChainTroubles& troubles, std::uint32_t board) {
    return troubles.is_link_disturbed() && (board == troubles.cut_board || troubles.stop_ns > 0);
}

/// Follows, in the order of events, which boards the others wait for. They wait for a board whose fragment is lost; a
/// board whose fragment does not arrive in time is silent, and they do not wait for it until it has sent again. The
/// same holds for a group, for which the others wait for two time-outs until half of its boards have sent. When these
/// send again, the few fragments of the events before wait for a time-out in the builder, and later events wait for
/// these.
class WaitedFor {
  public:
    WaitedFor(const CameraScenario& scenario, const std::map<std::uint32_t, VirtualCamera::Event>& events)
        : scenario_(scenario), events_(events) {}

    /// Takes the arrival at each board, event by event. Where fewer than half of the boards came, most of a group may
    /// have come, and wait for the others of theirs.
    bool came_in_time(std::uint32_t board, std::uint32_t number, const VirtualCamera::Event& event) {
        const bool has_half = event.half_came_ns() != 0;
        const Nanoseconds half_ns = has_half ? event.half_came_ns() : event.first_came_ns();
        const Nanoseconds came_ns = event.came_ns[board];
        Board& is = boards_[board];
        const bool has_just_lost = std::exchange(is.n_after_loss, is.n_after_loss + 1) < n_doubtful;
        const Nanoseconds group_ns = half_of_group_ns(event, board, scenario_.n_groups);
        const bool has_group = group_ns != 0 && group_ns - half_ns < 2 * scenario_.timeout_ns - apart_ns;
        is.was_group_gone |= !has_group;
        if (came_ns == 0 || event.overtaken.contains(board) || !has_group) {
            is.since_ns = is.since_ns == 0 ? half_ns : is.since_ns;
            is.n_after_loss = 0;
            return false;
        }
        const Nanoseconds waited_ns = came_ns - (is.since_ns == 0 ? half_ns : is.since_ns);
        const bool was_silent = half_ns < is.silent_until_ns;
        const bool is_late = waited_ns > scenario_.timeout_ns / 2 || came_ns > pushed_out_ns(number);
        if (came_ns > is.since_ns + apart_ns) is.since_ns = 0;  // the board has sent since then
        if (is_late) is.silent_until_ns = came_ns + apart_ns;
        if (std::exchange(is.was_group_gone, false) && is_late && scenario_.n_groups > 1)
            is.silent_until_ns += scenario_.timeout_ns;
        return !is_late && !was_silent && !has_just_lost;
    }

  private:
    struct Board {
        Nanoseconds since_ns = 0, silent_until_ns = 0;  ///< since when the others wait; 0: they do not
        std::uint32_t n_after_loss = n_doubtful;        ///< events since the board lost one
        bool was_group_gone = false;                    ///< fewer than half of its group sent an event since it came
    };
    static constexpr std::uint32_t n_doubtful = 2;  ///< a group's boards may reach a lost event with the next ones
    /// When half of the boards had reached half a window further.
    Nanoseconds pushed_out_ns(std::uint32_t number) const {
        const auto later = events_.find(number + scenario_.window_events / 2);
        const Nanoseconds at_ns = later == events_.end() ? 0 : later->second.half_came_ns();
        return at_ns == 0 ? std::numeric_limits<Nanoseconds>::max() : at_ns;
    }

    const CameraScenario& scenario_;
    const std::map<std::uint32_t, VirtualCamera::Event>& events_;
    std::array<Board, VirtualCamera::n_boards> boards_{};
};

/// Checks that the files hold the kept events, each once and in order, with as many boards as when it was taken. Events
/// that they lack were refused by a full disk, and counted.
void judge_files(const VirtualCamera& camera, bool was_full, std::vector<std::string>& findings) {
    std::uint64_t n_rows = 0, last = 0;
    for (const std::string& name : simulate::series(camera.disk(), events_file)) {
        const simulate::StoredColumns file(camera.disk(), name);
        if (!file.opens()) return findings.push_back(name + " does not open");
        const auto numbers = file.numbers("event_number"), n_present = file.numbers("n_present");
        const auto times_ns = file.numbers("timestamp_ns"), tags = file.numbers("trigger_tag");
        if (numbers.size() != n_present.size() || numbers.size() != times_ns.size() || numbers.size() != tags.size())
            return findings.push_back(name + " has columns of several lengths");
        for (std::size_t row = 0; row < numbers.size(); ++row) {
            const std::uint32_t number = camera.unwrapped(numbers[row]);
            const auto event = camera.events().find(number);
            const bool is_it = event != camera.events().end() && event->second.present.count() == n_present[row] &&
                               event->second.timestamp_ns == times_ns[row] && event->second.trigger_tag == tags[row];
            if (!is_it) findings.push_back(fmt::format("{} has another event than was taken in row {}", name, row));
            if (n_rows + row > 0 && number <= last)
                findings.push_back(fmt::format("{} has event {} behind event {}", name, number, last));
            last = number;
        }
        n_rows += numbers.size();
    }
    const std::uint64_t n_lost = camera.count("camera_store", "events_lost");
    const std::uint64_t n_kept = camera.count("filter", "events_kept");
    if (n_rows + n_lost != n_kept)
        findings.push_back(
            fmt::format("{} events were kept, {} are in files, and {} were lost for them", n_kept, n_rows, n_lost));
    if (n_lost > 0 && !was_full) findings.emplace_back("events were lost on a disk with room");
}

/// Checks what a board sent with a number that had come before: it is not used, and counted by its cause. Of an event
/// that has gone the builder knows the time of most boards alone, so that a repetition with a wrong clock may conflict.
void judge_repeated(const VirtualCamera& camera, bool has_wrong_clocks, std::vector<std::string>& findings) {
    std::uint64_t n_seen = 0, n_counted = 0;
    for (std::uint32_t board = 0; board < VirtualCamera::n_boards; ++board) {
        const ExpectedFragments& expected = camera.fragments(board);
        const std::string block = fmt::format("build.board{}", board);
        const std::uint64_t n_repeated = camera.count(block, "duplicate"), n_other = camera.count(block, "conflicting");
        n_seen += expected.n_repeated;
        n_counted += n_repeated;
        if (n_repeated != expected.n_repeated || has_wrong_clocks) continue;  // not the same: the rest was not read
        if (n_other != expected.n_conflicting)
            findings.push_back(fmt::format("board {}: {} fragments conflict with earlier ones, not {}", board, n_other,
                                           expected.n_conflicting));
    }
    if (n_counted > n_seen)
        findings.push_back(fmt::format("{} fragments count as repeated, and {} were", n_counted, n_seen));
}

/// True if nothing that the node has counted makes the run less than good.
bool is_good_by_counters(const VirtualCamera& camera, std::uint32_t n_groups) {
    std::uint64_t n_lost = camera.count("join", "events_incomplete") + camera.count("camera_store", "events_lost");
    for (std::uint32_t group = 0; group < n_groups && n_lost == 0; ++group) {
        const std::string block = fmt::format("build.group{}", group);
        for (const char* name : {"late", "ahead", "other_run", "dropped", "conflicting"})
            n_lost += camera.count(block, fmt::format("fragments_{}", name));
        n_lost += camera.count(block, "datagrams") - camera.count(fmt::format("receive.group{}.verdict", group), "ok");
    }
    for (std::uint32_t board = 0; board < VirtualCamera::n_boards && n_lost == 0; ++board)
        n_lost += camera.count(fmt::format("build.board{}", board), "lost") +
                  camera.count(fmt::format("receive.port{}", board), "kernel_dropped");
    return n_lost == 0;
}

/// Checks that the verdict on the run is not good where an event is missing that a board sent. While all boards are
/// off, nobody sends any.
void judge_verdict(const VirtualCamera& camera, const CameraScenario& scenario, std::vector<std::string>& findings) {
    const bool is_off = scenario.troubles.boards.n_rebooting == VirtualCamera::n_boards;
    if (is_off || !camera.finished() || !is_good_by_counters(camera, scenario.n_groups)) return;
    if (camera.n_decided() != camera.n_made())
        findings.push_back(fmt::format("{} events were made, {} were taken, and the verdict is good", camera.n_made(),
                                       camera.n_decided()));
}

}  // namespace

std::vector<std::string> judge(const VirtualCamera& camera, const CameraScenario& scenario) {
    std::vector<std::string> findings = camera.wrong();
    if (camera.events().empty()) findings.emplace_back("nothing came");
    WaitedFor waited_for(scenario, camera.events());
    for (const auto& [number, event] : camera.events()) {
        if (event.n_taken > 1) findings.push_back(fmt::format("event {} was taken {} times", number, event.n_taken));
        const bool has_half = event.half_came_ns() != 0;  // or its groups may have dropped it
        if (has_half && event.n_taken == 0) findings.push_back(fmt::format("event {} came, and was not taken", number));
        for (std::uint32_t board = 0; board < VirtualCamera::n_boards; ++board) {
            const bool must_be_there = waited_for.came_in_time(board, number, event) && has_half && event.n_taken > 0 &&
                                       half_of_group_ns(event, board, scenario.n_groups) != 0;
            if (must_be_there && !event.present.contains(board) && !is_disturbed(scenario.troubles, board))
                findings.push_back(fmt::format("event {} lacks board {}, which had come in time", number, board));
        }
    }
    const simulate::BoardChanges& changes = scenario.troubles.boards;
    const bool has_wrong_clocks = changes.n_wrong_clocks > 0 || (changes.n_rebooting > 0 && changes.restarts_clock);
    judge_repeated(camera, has_wrong_clocks, findings);
    judge_verdict(camera, scenario, findings);
    if (scenario.stores) judge_files(camera, scenario.troubles.disk_full_ns > 0, findings);
    return findings;
}

}  // namespace anello::camera
