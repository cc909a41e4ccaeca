// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "exchange/farm.hpp"
#include "fabric/fabric.hpp"

/// Messages between nodes of an exchange: a header of 40 bytes, little-endian, followed in some by a list of 16-byte
/// entries, or an MFP.
namespace anello::exchange {

enum class MessageType : std::uint8_t {
    mfp = 1,      ///< readout to builder: one MFP of `mep` for use `use` of `slot`
    absent,       ///< readout to builder: there is none
    hello,        ///< all to manager: connected with everybody; `mep`: a number of this process, its life
    farm,         ///< manager to all: who is live, and since which MEP; entries: NodeEntry, one per node
    assign,       ///< manager to builders, and to readouts where they push; entries: Assignment, in the order of MEPs
    request,      ///< builder to readouts (pull); entries: Assignment
    cancel,       ///< manager to readouts (pull): nobody will ask for these; entries: Assignment
    credit,       ///< builder to manager: slots that are free, and what became of their last MEP; entries: Credit
    leave,        ///< all to manager: please end the run
    end,          ///< manager to all: `mep` is the first that will not be
    stop,         ///< manager to all: all MEPs are accounted for
    stopped,      ///< all to manager: answer to stop
    alive,        ///< both ways, where nothing else was to be said
    acknowledge,  ///< on transports that lose: nothing but the header's `acknowledged`
    step,         ///< readout to readout (shift, in step): all below step `mep` is finished; slot: the phase
    outcome,      ///< manager to standby: what became of MEPs; entries: Outcome, in the order in which it was told
    takeover,     ///< standby to all: it is the manager, or will be; slot 1: who has lost the manager may follow it
    follow,       ///< all to standby: this node has let the manager go, and what it knows; FollowFlag in slot, `mep`:
                  ///< behind the last MEP that it knows to be assigned; entries: Totals, then Assignments
    again,        ///< standby that took over to all: Assignments of before, in order, that some may not have heard of
};

struct MessageHeader {
    MessageType type = MessageType::alive;
    Node from = 0;
    /// Counts this connection's control messages, and apart from those its mfp; 0 in absent, acknowledge.
    std::uint32_t sequence = 0;
    std::uint32_t acknowledged = 0;  ///< sequence of the last control message taken
    std::uint32_t n_entries = 0;
    std::uint64_t mep = 0;
    std::uint32_t use = 0;
    std::uint16_t slot = 0;
};

inline constexpr std::size_t message_header_bytes = 40, entry_bytes = 16;

void write(const MessageHeader& header, std::array<std::byte, message_header_bytes>& bytes) noexcept;
/// False if these bytes are not a header of ours.
bool read(std::span<const std::byte> bytes, MessageHeader& header) noexcept;

/// MEP `mep` goes to slot `slot` of a builder unit, used for the `use`-th time.
struct Assignment {
    std::uint64_t mep = 0;
    std::uint32_t use = 0;
    std::uint16_t slot = 0;
    std::uint16_t builder = 0;
    bool operator==(const Assignment&) const = default;
};

/// `builder` of an Assignment in `again`: nobody builds this MEP any more.
inline constexpr std::uint16_t nobody = no_unit;
/// `mep` of an Assignment in `follow`: this slot is free.
inline constexpr std::uint64_t free_slot = ~std::uint64_t{0};
/// `slot` of one: this MEP was built lately.
inline constexpr std::uint16_t built_lately = 0xffff;

struct FollowFlag {
    static constexpr std::uint16_t last = 1;   ///< of this node's messages
    static constexpr std::uint16_t ended = 2;  ///< the run's end was told: no MEP from the header's on
    static constexpr std::uint16_t begun = 4;  ///< the manager had told this node that it takes part
};

/// What a builder unit has reported since its process began.
struct Totals {
    std::uint64_t n_complete = 0, n_incomplete = 0;
};

struct Credit {
    static constexpr std::uint16_t never_used = 0xffff;
    std::uint64_t mep = 0;  ///< that the slot held
    std::uint32_t use = 0;  ///< its next use
    std::uint16_t slot = 0;
    std::uint16_t n_missing = never_used;  ///< sources that the MEP was handed on without
};

/// MEP `mep` was handed on without so many sources, and its slot is free again.
struct Outcome {
    std::uint64_t mep = 0;
    std::uint16_t builder = 0, slot = 0;
    std::uint16_t n_missing = 0;
};

struct NodeEntry {
    Node node = 0;
    bool live = false;
    std::uint64_t first_mep = 0;  ///< the first that it reads out
    std::uint32_t life = 0;       ///< short_life() of the process that this is said of
    bool is_standby = false;      ///< and may take over
};

/// Of two processes, one in the place of the other, that were made at different times: not the same.
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

}  // namespace anello::exchange
