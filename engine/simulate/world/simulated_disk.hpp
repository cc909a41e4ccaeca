// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulate/world/world.hpp"
#include "source/random.hpp"
#include "store/disk.hpp"

namespace anello::simulate {

struct DiskConfig {
    double gbps = 8;               ///< rate at which it writes
    Nanoseconds call_ns = 10'000;  ///< in addition, for each call that writes
    double short_share = 0;        ///< fraction of the writes that write only a part, as systems may
    std::uint64_t seed = 1;        ///< of the size of such a part
};

/// The disk of a machine in virtual time. It outlives processes: what a process has written stays when it dies,
/// including a part of its last write.
class SimulatedDisk final : public store::Disk {
  public:
    static constexpr std::uint64_t enough_bytes = std::uint64_t{1} << 40;
    /// waits: lets the calling thread wait until this time. The world must outlive the disk.
    SimulatedDisk(const DiskConfig& config, const World& world, std::function<void(Nanoseconds)> waits = {});
    ~SimulatedDisk() override;

    std::unique_ptr<store::OpenFile> create(const std::string& path) noexcept override;
    bool give_name(const std::string& from, const std::string& to) noexcept override;
    void remove(const std::string& path) noexcept override;

    /// Makes room for so many more bytes, not counting files that are removed.
    void have_room_for(std::uint64_t n_bytes) noexcept { room_bytes_ = n_bytes; }
    void be_slower(double factor) noexcept { slowness_ = factor; }
    /// The process with open files dies: it writes nothing more, and of a write in progress only a part stays.
    void lose_process() noexcept;
    /// The power fails: data that were not yet on the medium are lost, so that files are shorter.
    void lose_power() noexcept;

    std::vector<std::string> names() const;
    /// Empty if there is no such file.
    std::vector<std::byte> content(const std::string& path) const;

  private:
    class File;
    using Bytes = std::vector<std::byte>;
    struct Write {
        std::weak_ptr<Bytes> to;
        std::uint64_t at = 0, n_bytes = 0;
        Nanoseconds begin_ns = 0, end_ns = 0;
    };

    std::size_t take(Bytes& file, std::uint64_t at, std::size_t n_bytes) noexcept;
    void take_time(const std::shared_ptr<Bytes>& to, std::uint64_t at, std::uint64_t n_bytes) noexcept;
    bool grow(Bytes& file, std::uint64_t end) noexcept;

    const DiskConfig config_;
    const World& world_;
    const std::function<void(Nanoseconds)> waits_;
    source::Random random_;
    std::map<std::string, std::shared_ptr<Bytes>> files_;
    std::uint64_t room_bytes_ = enough_bytes;
    double slowness_ = 1;
    std::uint32_t n_lives_ = 0;  ///< processes that have written here
    Write last_;
};

}  // namespace anello::simulate
