// SPDX-License-Identifier: Apache-2.0
#include "store/record_file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/errors.hpp"

namespace anello::store {
RecordFile::RecordFile(std::string path, FileRules rules, std::span<const std::byte> header)
    : path_(std::move(path)), rules_(std::move(rules)), header_(header.begin(), header.end()) {
    auto file = rules_.disk->create(path_);
    if (file == nullptr) refuse_to_create(path_);
    if (!begin(std::move(file))) {
        const int error = errno;
        close();
        throw SystemError("cannot write " + path_, error, "Free space on the disk.");
    }
}

bool RecordFile::begin(std::unique_ptr<OpenFile> file) noexcept {
    file_ = std::move(file);
    iovec piece{header_.data(), header_.size()};
    if (!append_all(*file_, std::span(&piece, 1))) return false;
    length_before_ += std::exchange(length_bytes_, header_.size());
    return true;
}

bool RecordFile::try_next() noexcept {
    for (;; ++n_files_) {
        const std::string next = number_in_series(path_, n_files_);
        auto file = rules_.disk->create(next);
        if (file == nullptr && errno == EEXIST) continue;
        const bool is_created = file != nullptr;
        if (is_created && begin(std::move(file))) return ++n_files_, true;
        const int error = errno;
        if (is_created) close(), rules_.disk->remove(next);
        return errno = error, false;
    }
}

/// Removes the part of a record that a full disk has accepted.
bool RecordFile::try_write(std::span<iovec> pieces) noexcept {
    const std::size_t n_bytes = total_bytes(pieces);
    if (file_ != nullptr && rules_.max_bytes > 0 && length_bytes_ >= rules_.max_bytes) close();
    if ((file_ != nullptr || try_next()) && append_all(*file_, pieces)) {
        length_bytes_ += n_bytes;
        refusal_.end();
        return true;
    }
    refusal_.begin(errno == 0 ? EIO : errno);
    if (file_ != nullptr && !file_->cut(length_bytes_)) close();
    return false;
}

void RecordFile::close() noexcept {
    if (file_ == nullptr) return;
    if (!file_->close()) refusal_.begin(errno);
    file_.reset();
}

}  // namespace anello::store
