// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "exchange/farm.hpp"
#include "fabric/fabric.hpp"

/// Messages between nodes of an exchange, little-endian: a header of 40 bytes, followed in some types by a list of
/// 16-byte entries, or by an MFP.
namespace anello::exchange {

enum class MessageType : std::uint8_t {
    mfp = 1,  ///< readout to builder: one MFP of `mep` for use `use` of `slot`
    absent,   ///< readout to builder: there is no MFP
    hello,    ///< all to manager: connected with all nodes; `mep`: a number of this process, its life
    farm,     ///< manager to all: live nodes, and since which MEP; entries: NodeEntry, one per node
    /// manager to builders, and to readouts with push and shift; entries: Assignment, in the order of MEPs
    assign,
    request,      ///< builder to readouts (pull); entries: Assignment
    cancel,       ///< manager to readouts (pull): these will not be requested; entries: Assignment
    credit,       ///< builder to manager: free slots, and the outcome of their last MEP; entries: Credit
    leave,        ///< all to manager: please end the run
    end,          ///< manager to all: the run ends before MEP `mep`
    stop,         ///< manager to all: all MEPs are accounted for
    stopped,      ///< all to manager: answer to stop
    alive,        ///< both ways, if no other message was due
    acknowledge,  ///< on transports that lose: only the header's `acknowledged` counts
    step,         ///< readout to readout (shift with barrier): all below step `mep` is finished; slot: the phase
    outcome,      ///< manager to standby: outcomes of MEPs; entries: Outcome, in the order in which builders sent them
    takeover,     ///< standby to all: it is, or will be, the manager; slot 1: nodes that lost the manager may follow it
    /// all to standby: this node gives up the manager, and sends what it knows; FollowFlag in slot; `mep`: one more
    /// than the last MEP that it knows to be assigned; entries: Totals, then Assignments
    follow,
    again,  ///< standby that took over to all: earlier Assignments, in order, which some nodes may not know
};

struct MessageHeader {
    MessageType type = MessageType::alive;
    Node from = 0;
    /// Counts this connection's control messages, and separately its messages of type mfp; 0 in absent and acknowledge.
    std::uint32_t sequence = 0;
    std::uint32_t acknowledged = 0;  ///< sequence of the last control message received
    std::uint32_t n_entries = 0;
    std::uint64_t mep = 0;
    std::uint32_t use = 0;
    std::uint16_t slot = 0;
};

inline constexpr std::size_t message_header_bytes = 40, entry_bytes = 16;

void write(const MessageHeader& header, std::array<std::byte, message_header_bytes>& bytes) noexcept;
/// Returns false if these bytes are not a header of this protocol.
bool read(std::span<const std::byte> bytes, MessageHeader& header) noexcept;

/// MEP `mep` is assigned to slot `slot` of a builder unit, for use number `use` of the slot.
struct Assignment {
    std::uint64_t mep = 0;
    std::uint32_t use = 0;
    std::uint16_t slot = 0;
    std::uint16_t builder = 0;
    bool operator==(const Assignment&) const = default;
};

/// Value of `builder` of an Assignment in `again`: no builder will build this MEP.
inline constexpr std::uint16_t nobody = no_unit;
/// Value of `mep` of an Assignment in `follow`: this slot is free.
inline constexpr std::uint64_t free_slot = ~std::uint64_t{0};
/// Value of `slot` of an Assignment in `follow`: this MEP was built lately.
inline constexpr std::uint16_t built_lately = 0xffff;

struct FollowFlag {
    static constexpr std::uint16_t last = 1;   ///< the last of this node's messages
    static constexpr std::uint16_t ended = 2;  ///< the manager announced the run's end: no MEP from the header's on
    static constexpr std::uint16_t begun = 4;  ///< the manager had listed this node as live
};

/// What a builder unit has reported since its process began.
struct Totals {
    std::uint64_t n_complete = 0, n_incomplete = 0;
};

struct Credit {
    static constexpr std::uint16_t never_used = 0xffff;
    std::uint64_t mep = 0;  ///< the MEP that the slot held
    std::uint32_t use = 0;  ///< its next use
    std::uint16_t slot = 0;
    std::uint16_t n_missing = never_used;  ///< sources missing in the MEP when it was handed on
};

/// MEP `mep` was handed on without n_missing sources, and its slot is free again.
struct Outcome {
    std::uint64_t mep = 0;
    std::uint16_t builder = 0, slot = 0;
    std::uint16_t n_missing = 0;
};

struct NodeEntry {
    Node node = 0;
    bool live = false;
    std::uint64_t first_mep = 0;  ///< the first MEP that it reads out
    std::uint32_t life = 0;       ///< short_life() of the process that this entry concerns
    bool is_standby = false;      ///< it may take over
};

/// Short form of a life. It differs for two processes of one node that were started at different times.
constexpr std::uint32_t short_life(std::uint64_t life) noexcept {
    return static_cast<std::uint32_t>(life ^ life >> 32);
}

void write(const Assignment& entry, std::byte* to) noexcept;
void write(const Credit& entry, std::byte* to) noexcept;
void write(const NodeEntry& entry, std::byte* to) noexcept;
void write(const Outcome& entry, std::byte* to) noexcept;
void write(const Totals& entry, std::byte* to) noexcept;
void read(const std::byte* from, Assignment& entry) noexcept;
void read(const std::byte* from, Credit& entry) noexcept;
void read(const std::byte* from, NodeEntry& entry) noexcept;
void read(const std::byte* from, Outcome& entry) noexcept;
void read(const std::byte* from, Totals& entry) noexcept;

/// Calls `handle` with each entry of a message in turn.
template <typename Entry, typename Handle>
void for_each_entry(std::span<const std::byte> entries, Handle handle) noexcept {
    Entry entry;
    for (; entries.size() >= entry_bytes; entries = entries.subspan(entry_bytes)) {
        read(entries.data(), entry);
        handle(entry);
    }
}

}  // namespace anello::exchange
