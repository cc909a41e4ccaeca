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
    double gbps = 8;               ///< that it takes
    Nanoseconds call_ns = 10'000;  ///< beside that, for each call that writes
    double short_share = 0;        ///< of the writes of which it takes a part only, as systems may
    std::uint64_t seed = 1;        ///< of what it takes of such a write
};

/// The disk of a machine in virtual time. It outlives processes: what one has written stays when it dies, up to where
/// its last write had come.
class SimulatedDisk final : public store::Disk {
  public:
    static constexpr std::uint64_t enough_bytes = std::uint64_t{1} << 40;
    /// waits: the calling thread does, until then. The world must outlive the disk.
    SimulatedDisk(const DiskConfig& config, const World& world, std::function<void(Nanoseconds)> waits = {});
    ~SimulatedDisk() override;

    std::unique_ptr<store::OpenFile> create(const std::string& path) noexcept override;
    bool give_name(const std::string& from, const std::string& to) noexcept override;
    void remove(const std::string& path) noexcept override;

    /// Room for so many bytes more, and for what goes.
    void have_room_for(std::uint64_t n_bytes) noexcept { room_bytes_ = n_bytes; }
    void be_slower(double factor) noexcept { slowness_ = factor; }
    /// What has files open dies: nothing more comes of it, and of a write that is under way only a part.
    void lose_process() noexcept;
    /// Everything stops: what was not yet on the medium is gone. Files are shorter then.
    void lose_power() noexcept;

    std::vector<std::string> names() const;
    /// Empty where there is none.
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
    std::uint32_t n_lives_ = 0;  ///< of processes that write here
    Write last_;
};

}  // namespace anello::simulate
