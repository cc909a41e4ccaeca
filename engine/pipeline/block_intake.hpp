// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "events/block_source.hpp"
#include "receive/boards/block_stream.hpp"

namespace anello::pipeline {

/// Gives the streams of the receive stage to the merger: stream i is board i.
class BlockIntake final : public events::BlockSource {
  public:
    explicit BlockIntake(std::vector<std::unique_ptr<receive::BlockStream>>& streams) noexcept : streams_(streams) {}

    bool try_take(std::uint32_t board, receive::Completion& completion) noexcept override {
        return streams_[board]->try_take(completion);
    }
    Nanoseconds read_until_ns(std::uint32_t board) const noexcept override { return streams_[board]->read_until_ns(); }
    bool is_wanted(std::uint32_t board) const noexcept override { return streams_[board]->is_wanted(); }
    receive::FragmentColumns columns(std::uint32_t board, std::uint32_t buffer) noexcept override {
        return streams_[board]->columns(buffer);
    }
    void give_back(std::uint32_t board, std::uint32_t buffer) noexcept override { streams_[board]->give_back(buffer); }

    bool has_blocks() const noexcept {
        return std::ranges::any_of(streams_, [](const auto& stream) { return stream->has_completions(); });
    }

  private:
    std::vector<std::unique_ptr<receive::BlockStream>>& streams_;
};

}  // namespace anello::pipeline
