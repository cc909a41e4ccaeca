// SPDX-License-Identifier: Apache-2.0
#include "store/mep_writer.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/errors.hpp"
#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"
#include "wire/mfp.hpp"

namespace anello::store {
namespace {

using wire::store_le;

constexpr std::array file_magic{'M', 'E', 'P', 'F', 'I', 'L', 'E', '1'};
constexpr std::uint32_t record_magic = 0x3152504d;  // "MPR1"
constexpr std::size_t file_header_bytes = 32, record_header_bytes = 48, checksum_offset = 40, unit = 8;
constexpr std::array<std::byte, unit> padding{};

/// Writes all of the pieces; false with errno where the file refuses. Pieces are used up.
bool write_all(int file, std::vector<iovec>& pieces) noexcept {
    for (std::size_t first = 0; first < pieces.size();) {
        const auto n_pieces = static_cast<int>(std::min<std::size_t>(pieces.size() - first, IOV_MAX));
        ssize_t n_written = writev(file, &pieces[first], n_pieces);
        if (n_written < 0 && errno == EINTR) continue;
        if (n_written <= 0) return false;
        for (; first < pieces.size() && static_cast<std::size_t>(n_written) >= pieces[first].iov_len; ++first)
            n_written -= static_cast<ssize_t>(pieces[first].iov_len);
        if (n_written == 0) continue;
        pieces[first].iov_base = static_cast<char*>(pieces[first].iov_base) + n_written;
        pieces[first].iov_len -= static_cast<std::size_t>(n_written);
    }
    return true;
}

void* untouched(const std::byte* bytes) noexcept {
    return const_cast<std::byte*>(bytes);  // writev() reads only
}

}  // namespace

MepWriter::MepWriter(const MepWriterConfig& config, CounterPage& page, const std::string& block_name)
    : config_(config),
      counters_(page.add_block<MepStoreCounter>(block_name)),
      taken_(config.n_slots),
      written_(config.n_slots),
      head_(record_header_bytes + wire::mfp::round_up(4 * std::size_t{config.n_readouts}, unit)) {
    pieces_.reserve(1 + 2 * std::size_t{config.n_readouts});
    file_ = open(config.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0) throw SystemError("cannot create " + config.path, errno, "Check the directory and its permissions.");
    std::array<std::byte, file_header_bytes> header{};
    std::memcpy(header.data(), file_magic.data(), file_magic.size());
    store_le(header.data() + 8, config.n_readouts);
    store_le(header.data() + 12, config.packing);
    store_le(header.data() + 16, config.run_id);
    if (write(file_, header.data(), header.size()) != static_cast<ssize_t>(header.size())) {
        const int error = errno;
        ::close(std::exchange(file_, -1));
        throw SystemError("cannot write " + config.path, error, "Free space on the disk.");
    }
    length_bytes_ = header.size();
    counters_.set(MepStoreCounter::bytes_written, length_bytes_);
    thread_ = std::make_unique<WorkerThread>(ThreadConfig{.name = "mep_store", .can_be_woken = true},
                                             [this] { return write_one(); });
    thread_->start();
}

MepWriter::~MepWriter() {
    close();
}

bool MepWriter::try_take(const exchange::MepView& mep) noexcept {
    if (!taken_.try_give(mep)) return false;
    n_taken_.fetch_add(1, std::memory_order_release);  // pairs with close()
    thread_->wake();
    return true;
}

std::size_t MepWriter::write_one() noexcept {
    exchange::MepView mep;
    if (!taken_.try_take(mep)) return 0;
    counters_.add(MepStoreCounter::meps_taken);
    if (try_write(mep)) {
        counters_.add(MepStoreCounter::meps_written);
        counters_.add(MepStoreCounter::events_written, mep.n_events);
        counters_.set(MepStoreCounter::bytes_written, length_bytes_);
    } else {
        counters_.add(MepStoreCounter::meps_lost);
    }
    written_.try_give(mep.slot);  // has room for all slots
    return 1;
}

/// Header and lengths; returns the length of the whole record.
std::size_t MepWriter::fill_head(const exchange::MepView& mep) noexcept {
    std::fill(head_.begin(), head_.end(), std::byte{0});
    std::byte* at = head_.data();
    std::size_t length_bytes = head_.size();
    for (std::size_t i = 0; i < mep.mfps.size(); ++i) {
        store_le(at + record_header_bytes + 4 * i, static_cast<std::uint32_t>(mep.mfps[i].size()));
        length_bytes += wire::mfp::round_up(mep.mfps[i].size(), unit);
    }
    store_le(at, record_magic);
    store_le(at + 4, static_cast<std::uint16_t>(mep.mfps.size()));
    store_le(at + 6, static_cast<std::uint16_t>(mep.n_missing));
    store_le(at + 8, mep.mep);
    store_le(at + 16, mep.first_event);
    store_le(at + 24, static_cast<std::uint64_t>(mep.built_ns));
    store_le(at + 32, static_cast<std::uint64_t>(length_bytes));
    store_le(at + 44, mep.n_events);
    store_le(at + checksum_offset, wire::crc32c(head_));  // of all of head_, with 0 here
    return length_bytes;
}

bool MepWriter::try_write(const exchange::MepView& mep) noexcept {
    const std::size_t record_bytes = fill_head(mep);
    pieces_.clear();  // reserved for all
    pieces_.push_back({head_.data(), head_.size()});
    for (const std::span<const std::byte> mfp : mep.mfps) {
        if (mfp.empty()) continue;
        pieces_.push_back({untouched(mfp.data()), mfp.size()});
        const std::size_t pad = wire::mfp::round_up(mfp.size(), unit) - mfp.size();
        if (pad > 0) pieces_.push_back({untouched(padding.data()), pad});
    }
    if (write_all(file_, pieces_)) {
        length_bytes_ += record_bytes;
        return true;
    }
    note_error(errno);
    const auto end = static_cast<off_t>(length_bytes_);  // a record begun is taken back
    if (ftruncate(file_, end) != 0 || lseek(file_, end, SEEK_SET) != end) note_error(errno);
    return false;
}

/// Not on the way of the data: a file that refuses is rare, and its thread is nobody else's.
void MepWriter::note_error(int error_number) noexcept {
    const std::lock_guard lock(mutex_);
    error_ = std::generic_category().message(error_number);
}

void MepWriter::close() noexcept {
    if (file_ < 0) return;
    const auto n_done = [this] {
        return counters_[MepStoreCounter::meps_written] + counters_[MepStoreCounter::meps_lost];
    };
    while (n_done() < n_taken_.load(std::memory_order_acquire)) std::this_thread::yield();  // pairs with try_take()
    thread_->stop();
    if (::close(std::exchange(file_, -1)) != 0) note_error(errno);
}

std::vector<std::string> MepWriter::notices() {
    const std::lock_guard lock(mutex_);
    if (error_.empty()) return {};
    return {"cannot write " + config_.path + ": " + std::exchange(error_, {}) + "; multi-event packets are lost"};
}

}  // namespace anello::store
