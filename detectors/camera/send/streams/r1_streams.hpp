// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "camera/send/streams/r1_counters.hpp"
#include "camera/send/streams/stream.hpp"
#include "pipeline/told.hpp"

namespace anello::camera {

/// Distributes records to several writers of files, which are processes with a stream each. Each record goes to one of
/// them: to the next in turn, or to another if that one is slow or gone. The page also has the writers' own counters;
/// the process that leads the writers sets them.
class R1Streams {
  public:
    /// connections: one open stream socket for each writer. Throws ConfigError, SystemError.
    R1Streams(const std::vector<int>& connections, const Clock& clock, CounterPage& page);

    // Hot path: no allocation, no lock, no log, no throw.
    void offer(std::span<const std::byte> record) noexcept;
    /// Returns the number of bytes sent.
    std::size_t do_work() noexcept;
    /// True while a living writer has not taken all its records.
    bool is_waiting() const noexcept;

    void close() noexcept;
    /// The control thread calls it. name: a counter's name in its table. False: there is no such writer or counter.
    bool set_of_writer(std::size_t writer, const std::string& name, std::uint64_t value) noexcept;
    void add_notices(pipeline::Notices& lines);
    std::size_t size() const noexcept { return streams_.size(); }

  private:
    std::vector<std::unique_ptr<CameraStream>> streams_;
    std::vector<Counters<R1WriterCounter>> writers_;
    std::size_t next_ = 0;
    pipeline::AddedNotice drops_;
};

}  // namespace anello::camera
