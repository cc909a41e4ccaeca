// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "camera/events/builder/builder.hpp"
#include "camera/events/joiner.hpp"

/// A camera's boards, and builders with everything around them in memory. Payloads are a function of run, event and
/// board, so that every byte of an event can be checked.
namespace anello::camera::test {

using Bytes = std::vector<std::byte>;

/// One front-end board, as it numbers and counts its fragments.
class TestBoard {
  public:
    explicit TestBoard(std::uint16_t board, std::uint32_t run_id = 1, std::uint16_t payload_bytes = 100)
        : board_(board), run_id_(run_id), payload_bytes_(payload_bytes) {}

    Bytes data(std::uint32_t event_number);
    Bytes marker(std::uint8_t flags) const;
    Bytes start() const { return marker(wire::camera::start_of_run); }
    Bytes end() const { return marker(wire::camera::end_of_run); }
    /// Sends nothing for some events: as data(), but lost.
    void lose(std::uint32_t event_number) { data(event_number); }
    void begin_run(std::uint32_t run_id);
    void set_payload_bytes(std::uint16_t n_bytes) { payload_bytes_ = n_bytes; }
    void set_clock_ahead(std::uint64_t ns) { clock_ahead_ns_ = ns; }
    void set_trigger_tag(std::uint8_t tag) { trigger_tag_ = tag; }
    void set_first_event(std::uint32_t event_number) { totals_.first_event = totals_.next_event = event_number; }

    std::uint16_t number() const { return board_; }
    std::uint64_t n_sent() const { return totals_.n_fragments; }

  private:
    std::uint16_t board_;
    std::uint32_t run_id_;
    std::uint16_t payload_bytes_;
    std::uint32_t sequence_ = 0;
    std::uint64_t clock_ahead_ns_ = 0;
    std::uint8_t trigger_tag_ = wire::camera::tag_mono;
    wire::camera::Totals totals_;
};

/// Why a fragment in its slot is not what its board sent; empty when it is.
std::string fault_of(const std::byte* slot, std::uint32_t run_id, std::uint32_t event_number, std::uint32_t board);

struct TakenPart {
    CameraPart part;
    BoardSet present;
};

CameraBuilderConfig small_camera(std::uint32_t n_boards = 4);

/// Checks what every builder must keep: the sums of events/counters.hpp.
void expect_sums(const CameraBuilder& builder);
/// The sum over one board's sequence numbers; holds when its last end-of-run marker arrived.
void expect_board_sum(const CameraBuilder& builder, std::uint32_t board);

class CameraRig {
  public:
    explicit CameraRig(const CameraBuilderConfig& config);

    void place(const Bytes& datagram, std::uint16_t stream = 0, receive::SourceAddress source = {});
    /// One event of all boards but some.
    void place_event(std::uint32_t event_number, const std::vector<std::uint32_t>& but = {});
    void advance_ms(std::int64_t ms);
    void work();
    /// Takes what was handed on, checks every byte of it, and gives the buffers back unless they are to be held.
    void take_all();
    void give_back_held();
    void finish();

    std::uint64_t value(CameraBuildCounter counter) const { return builder.counters()[counter]; }
    std::uint64_t value(std::uint32_t board, CameraBoardCounter counter) const {
        return builder.board_counters(board)[counter];
    }
    std::vector<std::uint32_t> event_numbers() const;
    const TakenPart& last() const { return parts.back(); }

    ManualClock clock{1'000'000'000};
    CounterPage page;
    CameraBuilder builder;
    std::vector<TestBoard> boards;
    std::vector<TakenPart> parts;  ///< events and ends of runs, as they were handed on
    bool hold = false;
    std::vector<std::uint32_t> held;
};

}  // namespace anello::camera::test
