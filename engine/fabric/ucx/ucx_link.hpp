// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fabric/fabric_config.hpp"
#include "fabric/ucx/ucx_wire.hpp"
#include "fabric/ucx/ucx_worker.hpp"

namespace anello::fabric {

class UcxLink;

/// One of our messages or transfers, from the call until it is reported.
struct UcxSlot {
    enum class Stage : std::uint8_t { free, sending, putting, getting, finished };

    UcxLink* link = nullptr;
    UcxSlot* next = nullptr;  ///< in the one queue that holds it
    std::uint64_t token = 0, signal = 0;
    std::uint32_t sequence = 0;
    Stage stage = Stage::free;
    Status status = Status::ok;
    bool is_message = false;
    std::uint8_t n_awaited = 0;  ///< of a put: written, and flushed
    std::array<std::byte, max_ucx_header_bytes> header;
};

class UcxSlotQueue {
  public:
    bool empty() const noexcept { return first_ == nullptr; }
    std::size_t size() const noexcept { return size_; }
    UcxSlot* front() const noexcept { return first_; }
    void push(UcxSlot* slot) noexcept {
        slot->next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = slot;
        last_ = slot;
        ++size_;
    }
    UcxSlot* pop() noexcept {
        UcxSlot* const slot = first_;
        first_ = slot->next;
        --size_;
        return slot;
    }

  private:
    UcxSlot *first_ = nullptr, *last_ = nullptr;
    std::size_t size_ = 0;
};

/// State that all links of a fabric share.
struct UcxShared {
    const FabricConfig& config;
    const Clock& clock;
    Listener& listener;
    Counters<FabricCounter> counters;
    UcxWorker& worker;
    std::uint64_t incarnation;
    UcxSlotQueue done{};  ///< finished, to be reported
    /// The links whose endpoints UCX reports as failed. An endpoint may outlive its link, whose pointer is then null.
    std::vector<std::unique_ptr<UcxLink*>> owners{};
    Nanoseconds now_ns = 0;  ///< when the clock was last read
    bool may_tell = false;   ///< true in progress(), outside calls of the listener
    bool has_ready = false;  ///< a link has something to report
    bool has_failed = false;
    std::size_t n_things = 0;

    /// After a pause of this length, peers may have given this process up and reused their memory; not earlier, as they
    /// wait two heartbeats longer, and our last message left at most one heartbeat before the pause.
    Nanoseconds longest_pause_ns() const noexcept { return config.peer_timeout_ns; }
    bool paused() const noexcept { return clock.monotonic_ns() - now_ns >= longest_pause_ns(); }

    template <typename Call>
    void tell(Call&& call) {
        const bool before = std::exchange(may_tell, false);
        call(listener);
        may_tell = before;
        ++n_things;
    }
};

/// One connection to a peer, from connect() until it is lost. It holds UCX's endpoint, the messages and transfers on
/// their way, and the order of arriving messages. A peer that connects again gets a new link; messages for an old link
/// carry its number and are dropped.
class UcxLink {
  public:
    UcxLink(UcxShared& shared, Peer peer, UcxAddress address);
    ~UcxLink() { *owner_ = nullptr; }
    UcxLink(const UcxLink&) = delete;
    UcxLink& operator=(const UcxLink&) = delete;

    /// The peer with the lower number connects and the other answers: UCX 1.13 ends the process in some cases where
    /// both connect over TCP at once and one of them dies. Throws ConfigError if no transport reaches the peer.
    void begin();
    /// Opens the link if on_hello() requested it; must not be called from within UCX.
    void open_if_asked() noexcept;

    Peer peer() const noexcept { return peer_; }
    std::uint64_t number() const noexcept { return number_; }
    Nanoseconds since_ns() const noexcept { return since_ns_; }
    /// This process paused: the peer's time-out is extended by the pause.
    void grant(Nanoseconds pause_ns) noexcept { last_heard_ns_ += pause_ns; }
    std::uint64_t incarnation() const noexcept { return address_.incarnation; }
    bool up() const noexcept { return phase_ == Phase::up; }
    bool told_up() const noexcept { return told_up_; }
    bool failed() const noexcept { return phase_ == Phase::failed; }
    /// Whether UCX itself detects that the peer died (not over shared memory).
    bool sees_death() const noexcept { return sees_death_; }
    std::string lanes() const;  ///< the lanes that UCX chose: "tcp/lo cma/memory"

    // --- Sending; hot path: no allocation, no lock, no log, no throw
    Status tell(std::span<const std::byte> header) noexcept;
    Status send(std::span<const std::byte> header, std::span<const std::byte> payload, std::uint64_t token) noexcept;
    Status put(ucp_rkey_h key, std::uint64_t address, std::span<const std::byte> from, std::uint64_t signal,
               std::uint64_t token) noexcept;
    Status get(ucp_rkey_h key, std::uint64_t address, std::span<std::byte> to, std::uint64_t token) noexcept;
    ucp_rkey_h unpack(std::span<const std::byte> remote_key);  ///< Throws ConfigError.
    void give_slot(UcxSlot& slot) noexcept;                    ///< Reports the slot and frees it.

    // --- Receiving
    void on_hello(const UcxHeader& header, const UcxHello& hello) noexcept;
    bool is_theirs(std::uint64_t number) const noexcept { return number == their_number_ && !failed(); }
    void on_control(const UcxHeader& header) noexcept;
    void on_word(std::span<const std::byte> body) noexcept;
    /// A message or signal arrived. UCX owns `data`; with `rendezvous` it only describes where to fetch the payload.
    ucs_status_t on_sequenced(const UcxHeader& header, std::span<const std::byte> body, void* data, std::size_t n_bytes,
                              bool rendezvous) noexcept;
    void tell_ready() noexcept;  ///< Reports what could not be reported when it arrived.

    // --- Time-outs and the end
    void tick() noexcept;
    void fail() noexcept;
    /// Call it repeatedly after fail(). Returns true when UCX no longer uses the listener's memory; by then all
    /// unfinished messages and transfers are in the queue to be reported.
    bool try_close() noexcept;
    bool in_ucx() const noexcept { return n_in_ucx_ > 0; }
    void abandon() noexcept { abandoned_ = true; }  ///< Its callbacks then do nothing.

  private:
    enum class Phase : std::uint8_t { connecting, up, failed };
    struct Arrival {  ///< a message that arrived, or arrives, before its turn
        enum class Stage : std::uint8_t { empty, receiving, ready };
        UcxLink* link = nullptr;
        Stage stage = Stage::empty;
        UcxKind kind = UcxKind::message;
        bool discarded = false;
        std::uint8_t body_bytes = 0;
        std::span<std::byte> payload{};
        std::array<std::byte, max_header_bytes> body{};
    };
    struct Word {
        std::uint8_t n_bytes = 0;
        std::array<std::byte, max_header_bytes> bytes{};
    };
    struct Control {
        UcxLink* link = nullptr;
        bool busy = false;
        std::array<std::byte, max_ucx_header_bytes> bytes{};
    };

    void open();
    bool may_close(bool silent) noexcept;
    void drain() noexcept;
    bool break_connection() noexcept;
    void force_close() noexcept;
    void find_our_ends(std::span<const SocketName> before, std::span<const SocketName> after);
    ucs_status_t try_open(ucp_err_handling_mode_t mode) noexcept;
    void choose_protocol();

    // ucx_link_messages.cpp
    std::size_t write_header(std::span<std::byte> to, UcxKind kind, std::uint32_t sequence,
                             std::span<const std::byte> body) const noexcept;
    UcxSlot* take_slot(std::uint64_t token, UcxSlot::Stage stage) noexcept;
    bool has_window() const noexcept { return next_sequence_ - acknowledged_ < their_arrivals_; }
    Status not_taken(UcxSlot& slot, ucs_status_t status) noexcept;
    void finish(UcxSlot& slot, Status status) noexcept;
    bool say(UcxKind kind, std::uint32_t sequence = 0, std::span<const std::byte> body = {}) noexcept;
    void say_hello() noexcept;
    void become_up() noexcept;
    void acknowledge_if_due() noexcept;
    std::span<std::byte> ask_for_place(std::span<const std::byte> body, std::size_t n_bytes) noexcept;
    void receive_next(const UcxHeader& header, std::span<const std::byte> body, const void* data,
                      std::size_t n_bytes) noexcept;
    void place_message(Arrival& arrival, void* data, std::size_t n_bytes, bool rendezvous) noexcept;
    void begin_receive(Arrival& arrival, void* data, std::span<std::byte> place) noexcept;
    void received(Arrival& arrival, bool whole) noexcept;
    void tell_arrivals() noexcept;
    void tell_words() noexcept;
    void tell_message(std::span<const std::byte> body, std::span<std::byte> payload, bool discarded) noexcept;
    void tell_signal(std::span<const std::byte> body) noexcept;
    void break_off() noexcept;  ///< Ends the link: the peer broke the protocol.

    // ucx_link_transfers.cpp
    void flush_if_due() noexcept;
    void flushed(bool whole) noexcept;
    void advance_put(UcxSlot& slot) noexcept;
    void send_signal(UcxSlot& slot) noexcept;

    static void on_error(void* owner, ucp_ep_h endpoint, ucs_status_t status);
    static void on_drained(void* request, ucs_status_t status, void* link);
    static void on_sent(void* request, ucs_status_t status, void* slot);
    static void on_put(void* request, ucs_status_t status, void* slot);
    static void on_flushed(void* request, ucs_status_t status, void* link);
    static void on_said(void* request, ucs_status_t status, void* control);
    static void on_received(void* request, ucs_status_t status, std::size_t n_bytes, void* arrival);

    UcxShared& shared_;
    const Peer peer_;
    const std::uint64_t number_;
    UcxLink** const owner_;  ///< in shared_.owners
    ucp_ep_h endpoint_ = nullptr;
    const UcxAddress address_;
    bool asked_ = false;  ///< to open the link
    Phase phase_ = Phase::connecting;
    bool sees_death_ = true, told_up_ = false, abandoned_ = false;
    bool broken_ = false;  ///< according to UCX
    bool parting_ = false, draining_ = false, breaking_ = false, closed_ = false;
    Nanoseconds broken_at_ns_ = 0;
    std::array<SocketName, 4> our_ends_{}, their_ends_{};  ///< of the TCP connections that either side made
    bool may_rendezvous_ = true, heard_ = false;
    Nanoseconds since_ns_, last_heard_ns_, last_said_ns_;

    std::vector<UcxSlot> slots_;
    UcxSlot* free_slot_ = nullptr;
    std::uint32_t next_sequence_ = 0, acknowledged_ = 0, their_arrivals_ = 0;
    std::size_t n_in_ucx_ = 0;     ///< requests that UCX has not finished
    std::size_t n_receiving_ = 0;  ///< subset of n_in_ucx_: payloads that are arriving
    UcxSlotQueue unflushed_;       ///< puts in their order
    std::size_t n_flushing_ = 0;   ///< subset of unflushed_: puts that the current flush covers
    bool flushing_ = false;

    std::uint64_t their_number_ = 0;
    std::vector<Arrival> arrivals_;  ///< by sequence
    std::size_t n_arrived_ = 0;      ///< subset of arrivals_: those in use
    std::uint32_t expected_ = 0, told_to_peer_ = 0;
    std::array<Control, 8> controls_{};
    std::array<Word, 16> words_{};  ///< not yet reported
    std::size_t n_words_ = 0;
};

}  // namespace anello::fabric
