// SPDX-License-Identifier: Apache-2.0
#include "store/record_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/errors.hpp"
#include "store/new_file.hpp"

namespace anello::store {
namespace {

/// Writes all of the pieces; false with errno where the file refuses. Pieces are used up.
bool write_all(int file, std::span<iovec> pieces) noexcept {
    while (!pieces.empty()) {
        const auto n_pieces = static_cast<int>(std::min<std::size_t>(pieces.size(), IOV_MAX));
        ssize_t n_written = writev(file, pieces.data(), n_pieces);
        if (n_written < 0 && errno == EINTR) continue;
        if (n_written <= 0) return false;
        for (; !pieces.empty() && static_cast<std::size_t>(n_written) >= pieces.front().iov_len;
             pieces = pieces.subspan(1))
            n_written -= static_cast<ssize_t>(pieces.front().iov_len);
        if (n_written == 0) continue;
        pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + n_written;
        pieces.front().iov_len -= static_cast<std::size_t>(n_written);
    }
    return true;
}

std::size_t total_bytes(std::span<const iovec> pieces) noexcept {
    std::size_t n_bytes = 0;
    for (const iovec& piece : pieces) n_bytes += piece.iov_len;
    return n_bytes;
}

}  // namespace

RecordFile::RecordFile(std::string path, std::uint64_t max_bytes, std::span<const std::byte> header)
    : path_(std::move(path)), max_bytes_(max_bytes), header_(header.begin(), header.end()) {
    if (!begin(create_new(path_))) {
        const int error = errno;
        close();
        throw SystemError("cannot write " + path_, error, "Free space on the disk.");
    }
}

bool RecordFile::begin(int file) noexcept {
    file_ = file;
    iovec piece{header_.data(), header_.size()};
    if (!write_all(file_, std::span(&piece, header_.empty() ? 0 : 1))) return false;
    length_before_ += std::exchange(length_bytes_, header_.size());
    return true;
}

bool RecordFile::try_next() noexcept {
    for (;; ++n_files_) {
        const std::string next = number_in_series(path_, n_files_);
        const int file = open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (file < 0 && errno == EEXIST) continue;
        if (file >= 0 && begin(file)) return ++n_files_, true;
        const int error = errno;
        if (file >= 0) close(), unlink(next.c_str());
        return errno = error, false;
    }
}

/// What a full disk took of a record is taken back.
bool RecordFile::try_write(std::span<iovec> pieces) noexcept {
    const std::size_t n_bytes = total_bytes(pieces);
    if (file_ >= 0 && max_bytes_ > 0 && length_bytes_ >= max_bytes_) close();
    if ((file_ >= 0 || try_next()) && write_all(file_, pieces)) {
        length_bytes_ += n_bytes;
        refusal_.end();
        return true;
    }
    refusal_.begin(errno == 0 ? EIO : errno);
    const auto end = static_cast<off_t>(length_bytes_);
    if (file_ >= 0 && (ftruncate(file_, end) != 0 || lseek(file_, end, SEEK_SET) != end)) close();
    return false;
}

void RecordFile::close() noexcept {
    if (file_ >= 0 && ::close(std::exchange(file_, -1)) != 0) refusal_.begin(errno);
}

}  // namespace anello::store
