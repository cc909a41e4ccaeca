// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/words.hpp"
#include "memory/persistent_buffers.hpp"
#include "receive/boards/fragment_block.hpp"
#include "receive/boards/unpacker.hpp"
#include "receive/datagrams/source_address.hpp"

namespace anello::receive {

/// What happens to a datagram when all buffers of its stream are in use.
enum class FullPolicy : std::uint8_t {
    wait,      ///< datagrams stay in the kernel or in the file until there is room; drops by the kernel are counted
    drop_new,  ///< the datagram is dropped and counted
    overwrite_oldest,  ///< reuses the oldest full buffer that the builder has not taken, as NaNet does
};

const char* name_of(FullPolicy policy) noexcept;

/// Rules for the buffers of datagrams, common to all chains.
struct BufferRules {
    FullPolicy policy = FullPolicy::wait;
    memory::Kind memory = memory::Kind::host;
};
extern const Keys<BufferRules> buffer_rules_keys;

/// Ports that receive datagrams; a chain with another default has a table of its own.
struct PortsConfig {
    std::vector<std::uint16_t> ports{0};
};
extern const Keys<PortsConfig> ports_keys;

/// Sources that send datagrams.
struct SourcesConfig {
    std::vector<std::string> sources{};
    /// One source for each of n boards; empty if none is configured. Throws ConfigError.
    std::vector<SourceAddress> of_boards(std::size_t n_boards) const;
};
extern const Keys<SourcesConfig> sources_keys;

struct StreamConfig {
    Nanoseconds gathering_time_ns = 0;  ///< a block is handed on this long after its first packet; 0: after each read
    FullPolicy full_policy = FullPolicy::wait;
    SourceAddress source{};  ///< sender of this stream, or its host; unknown parts: set by the first sender
};

extern const Keys<StreamConfig> stream_keys;

/// Checks the values. A packet that does not fit into an empty block counts as too_many_hits, so the shape must be
/// large enough for any packet: a jumbo frame of MGP has at most 8000 hits or 1494 fragments. Throws ConfigError.
void validate(const StreamConfig& config, const BlockShape& shape);

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<const char*, 3> words_of<receive::FullPolicy>{"wait", "drop_new", "overwrite_oldest"};

}  // namespace anello
