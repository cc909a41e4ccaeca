// SPDX-License-Identifier: Apache-2.0
#include "store/disk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "core/errors.hpp"

namespace anello::store {
namespace {

/// Repeats a call that a signal interrupted.
template <typename Call>
auto unless_interrupted(Call call) noexcept {
    for (;;)
        if (const auto result = call(); result >= 0 || errno != EINTR) return result;
}

class SystemFile final : public OpenFile {
  public:
    explicit SystemFile(int descriptor) noexcept : descriptor_(descriptor) {}
    ~SystemFile() override { close(); }

    ssize_t append(std::span<const iovec> pieces) noexcept override {
        const auto n_pieces = static_cast<int>(std::min<std::size_t>(pieces.size(), IOV_MAX));
        return unless_interrupted([&] { return writev(descriptor_, pieces.data(), n_pieces); });
    }
    bool cut(std::uint64_t n_bytes) noexcept override {
        const auto end = static_cast<off_t>(n_bytes);
        return ftruncate(descriptor_, end) == 0 && lseek(descriptor_, end, SEEK_SET) == end;
    }
    ssize_t write_at(std::uint64_t at, std::span<const std::byte> bytes) noexcept override {
        return unless_interrupted(
            [&] { return pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at)); });
    }
    ssize_t read_at(std::uint64_t at, std::span<std::byte> bytes) noexcept override {
        return unless_interrupted(
            [&] { return pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at)); });
    }
    bool reserve(std::uint64_t at, std::uint64_t n_bytes) noexcept override {
        errno = posix_fallocate(descriptor_, static_cast<off_t>(at), static_cast<off_t>(n_bytes));
        return errno == 0;
    }
    bool close() noexcept override { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

  private:
    int descriptor_;
};

class SystemDisk final : public Disk {
  public:
    std::unique_ptr<OpenFile> create(const std::string& path) noexcept override {
        const int flags = is_no_file(path) ? O_WRONLY | O_CLOEXEC : O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
        const int descriptor = open(path.c_str(), flags, 0644);
        return descriptor < 0 ? nullptr : std::make_unique<SystemFile>(descriptor);
    }
    /// Some file systems have no links.
    bool give_name(const std::string& from, const std::string& to) noexcept override {
        if (link(from.c_str(), to.c_str()) == 0) return unlink(from.c_str()) == 0;
        if (errno == EEXIST || access(to.c_str(), F_OK) == 0) return errno = EEXIST, false;
        return rename(from.c_str(), to.c_str()) == 0;
    }
    void remove(const std::string& path) noexcept override { unlink(path.c_str()); }

  private:
    static bool is_no_file(const std::string& path) noexcept {
        struct stat about {};
        return stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
    }
};

/// The pieces without the first bytes.
std::span<iovec> without(std::span<iovec> pieces, std::size_t n_bytes) noexcept {
    for (; !pieces.empty() && n_bytes >= pieces.front().iov_len; pieces = pieces.subspan(1))
        n_bytes -= pieces.front().iov_len;
    if (n_bytes == 0) return pieces;
    pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + n_bytes;
    pieces.front().iov_len -= n_bytes;
    return pieces;
}

}  // namespace

Disk& Disk::system() noexcept {
    static SystemDisk disk;
    return disk;
}

std::size_t total_bytes(std::span<const iovec> pieces) noexcept {
    std::size_t n_bytes = 0;
    for (const iovec& piece : pieces) n_bytes += piece.iov_len;
    return n_bytes;
}

bool append_all(OpenFile& file, std::span<iovec> pieces) noexcept {
    std::size_t n_before = 0;  // nothing to write needs no call
    while (!(pieces = without(pieces, n_before)).empty()) {
        const ssize_t n_taken = file.append(pieces);
        if (n_taken <= 0) return false;
        n_before = static_cast<std::size_t>(n_taken);
    }
    return true;
}

bool write_all_at(OpenFile& file, std::uint64_t at, std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t n_taken = file.write_at(at, bytes);
        if (n_taken <= 0) return false;
        at += static_cast<std::uint64_t>(n_taken);
        bytes = bytes.subspan(static_cast<std::size_t>(n_taken));
    }
    return true;
}

std::string number_in_series(const std::string& path, std::uint32_t n) {
    const std::filesystem::path first(path);
    return (first.parent_path() / fmt::format("{}-{:04}{}", first.stem().string(), n, first.extension().string()))
        .string();
}

void refuse_to_create(const std::string& path) {
    throw SystemError("cannot create " + path, errno,
                      errno == EEXIST ? "Name another directory, or give --overwrite."
                                      : "Check the directory, its permissions and the space left.");
}

}  // namespace anello::store
