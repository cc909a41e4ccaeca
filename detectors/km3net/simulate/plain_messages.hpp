// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "km3net/simulate/plain_trigger.hpp"

namespace anello::km3net {

/// Writes the messages of slices a second time, by docs/reference/km3net-messages.md, and finds them in the files.
class PlainMessages {
  public:
    PlainMessages(const PlainTrigger& trigger, std::uint32_t detector) : trigger_(trigger), detector_(detector) {}

    void add(const PlainDecision& decision);
    /// Compares the content of all files; the disk may have refused the messages of whole slices, if it was full.
    void judge(const std::vector<std::byte>& content, std::uint64_t n_written, std::uint64_t n_lost, bool was_full,
               std::vector<std::string>& wrong) const;

  private:
    struct OfSlice {
        std::vector<std::byte> bytes;
        std::uint64_t n_messages;
    };
    class Writer;

    void put_origin(Writer& writer, const PlainSlice& slice) const;
    void put_summary(Writer& writer, const PlainDecision& decision) const;
    void put_l1(Writer& writer, const PlainDecision& decision) const;
    void put_event(Writer& writer, const PlainDecision& decision, const PlainEvent& event, std::uint64_t number) const;
    void put_status(Writer& writer, const PlainDecision& decision, std::uint32_t dom) const;

    const PlainTrigger& trigger_;
    const std::uint32_t detector_;
    std::uint64_t first_slice_ = 0, n_events_ = 0;
    std::uint32_t run_ = 0;
    std::vector<OfSlice> slices_;
};

}  // namespace anello::km3net
