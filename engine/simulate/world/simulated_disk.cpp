// SPDX-License-Identifier: Apache-2.0
#include "simulate/world/simulated_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace anello::simulate {
class SimulatedDisk::File final : public store::OpenFile {
  public:
    File(std::shared_ptr<Bytes> bytes, SimulatedDisk& disk) noexcept
        : bytes_(std::move(bytes)), disk_(disk), life_(disk.n_lives_) {}

    ssize_t append(std::span<const iovec> pieces) noexcept override {
        const std::uint64_t at = next_;
        const std::size_t n_taken = is_alive() ? disk_.take(*bytes_, at, store::total_bytes(pieces)) : 0;
        if (!can_write(n_taken)) return -1;
        std::size_t n_left = n_taken;
        for (const iovec& piece : pieces) {
            const std::size_t n = std::min(piece.iov_len, n_left);
            if (n > 0) std::memcpy(bytes_->data() + next_, piece.iov_base, n);
            next_ += n, n_left -= n;
        }
        disk_.take_time(bytes_, at, n_taken);
        return static_cast<ssize_t>(n_taken);
    }
    bool cut(std::uint64_t n_bytes) noexcept override {
        if (!can_write(1)) return false;
        if (n_bytes < bytes_->size()) disk_.room_bytes_ += bytes_->size() - n_bytes;
        bytes_->resize(n_bytes);
        next_ = n_bytes;
        return true;
    }
    ssize_t write_at(std::uint64_t at, std::span<const std::byte> bytes) noexcept override {
        const std::size_t n_taken = is_alive() ? disk_.take(*bytes_, at, bytes.size()) : 0;
        if (!can_write(n_taken)) return -1;
        std::memcpy(bytes_->data() + at, bytes.data(), n_taken);
        disk_.take_time(bytes_, at, n_taken);
        return static_cast<ssize_t>(n_taken);
    }
    ssize_t read_at(std::uint64_t at, std::span<std::byte> bytes) noexcept override {
        if (at >= bytes_->size()) return 0;
        const std::size_t n = std::min<std::size_t>(bytes.size(), bytes_->size() - at);
        std::memcpy(bytes.data(), bytes_->data() + at, n);
        return static_cast<ssize_t>(n);
    }
    bool reserve(std::uint64_t at, std::uint64_t n_bytes) noexcept override {
        return can_write(1) && disk_.grow(*bytes_, at + n_bytes);
    }
    bool close() noexcept override { return true; }

  private:
    bool is_alive() const noexcept { return life_ == disk_.n_lives_; }
    bool can_write(std::size_t n_bytes) const noexcept {
        if (!is_alive()) return errno = EIO, false;
        if (n_bytes == 0) return errno = ENOSPC, false;
        return true;
    }

    const std::shared_ptr<Bytes> bytes_;
    SimulatedDisk& disk_;
    const std::uint32_t life_;
    std::uint64_t next_ = 0;
};

SimulatedDisk::SimulatedDisk(const DiskConfig& config, const World& world, std::function<void(Nanoseconds)> waits)
    : config_(config), world_(world), waits_(std::move(waits)), random_(config.seed, 0x6469736b) {}

SimulatedDisk::~SimulatedDisk() = default;

std::unique_ptr<store::OpenFile> SimulatedDisk::create(const std::string& path) noexcept {
    const auto [file, is_new] = files_.try_emplace(path, std::make_shared<Bytes>());
    if (!is_new) return errno = EEXIST, nullptr;
    return std::make_unique<File>(file->second, *this);
}

bool SimulatedDisk::give_name(const std::string& from, const std::string& to) noexcept {
    const auto file = files_.find(from);
    if (file == files_.end()) return errno = ENOENT, false;
    if (!files_.try_emplace(to, file->second).second) return errno = EEXIST, false;
    files_.erase(file);
    return true;
}

/// Returns how many bytes of a write at this position have room.
std::size_t SimulatedDisk::take(Bytes& file, std::uint64_t at, std::size_t n_bytes) noexcept {
    if (n_bytes > 1 && config_.short_share > 0 && random_.uniform() < config_.short_share)
        n_bytes = 1 + random_.below(static_cast<std::uint32_t>(n_bytes - 1));
    const std::uint64_t n_there = file.size() > at ? file.size() - at : 0;
    n_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(n_bytes, n_there + room_bytes_));
    grow(file, at + n_bytes);
    return n_bytes;
}

bool SimulatedDisk::grow(Bytes& file, std::uint64_t end) noexcept {
    const std::uint64_t n_more = end > file.size() ? end - file.size() : 0;
    if (n_more > room_bytes_) return errno = ENOSPC, false;
    room_bytes_ -= n_more;
    if (n_more > 0) file.resize(end);
    return true;
}

void SimulatedDisk::take_time(const std::shared_ptr<Bytes>& to, std::uint64_t at, std::uint64_t n_bytes) noexcept {
    const double time_ns =
        (static_cast<double>(config_.call_ns) + 8 * static_cast<double>(n_bytes) / config_.gbps) * slowness_;
    const Nanoseconds begin_ns = std::max(world_.monotonic_ns(), last_.end_ns);
    last_ = {to, at, n_bytes, begin_ns, begin_ns + static_cast<Nanoseconds>(time_ns)};
    if (waits_) waits_(last_.end_ns);
}

/// Of appended data the part that was written so far stays; a write into the middle of a file was whole, or is of one
/// page.
void SimulatedDisk::lose_process() noexcept {
    ++n_lives_;
    const Write last = std::exchange(last_, {});
    const auto to = last.to.lock();
    const Nanoseconds now_ns = world_.monotonic_ns();
    if (to == nullptr || now_ns >= last.end_ns || last.at + last.n_bytes != to->size()) return;
    const double part = static_cast<double>(std::max<Nanoseconds>(now_ns - last.begin_ns, 0)) /
                        static_cast<double>(last.end_ns - last.begin_ns);
    to->resize(last.at + static_cast<std::uint64_t>(part * static_cast<double>(last.n_bytes)));
}

void SimulatedDisk::lose_power() noexcept {
    lose_process();
    for (const auto& [name, bytes] : files_)
        if (!bytes->empty()) bytes->resize(random_.below(static_cast<std::uint32_t>(bytes->size()) + 1));
}

void SimulatedDisk::remove(const std::string& path) noexcept {
    const auto file = files_.find(path);
    if (file == files_.end()) return;
    room_bytes_ += file->second->size();
    files_.erase(file);
}

std::vector<std::string> SimulatedDisk::names() const {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files_) names.push_back(name);
    return names;
}

std::vector<std::byte> SimulatedDisk::content(const std::string& path) const {
    const auto file = files_.find(path);
    return file == files_.end() ? Bytes{} : *file->second;
}

}  // namespace anello::simulate
