// SPDX-License-Identifier: Apache-2.0
#include "store/mep_writer.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"
#include "wire/mfp.hpp"

namespace anello::store {
namespace {

using wire::store_le;

constexpr std::array file_magic{'M', 'E', 'P', 'F', 'I', 'L', 'E', '1'};
constexpr std::uint32_t record_magic = 0x3152504d;  // "MPR1"
constexpr std::size_t file_header_bytes = 32, record_header_bytes = 48, record_checksum_offset = 40, unit = 8;
constexpr std::array<std::byte, unit> padding{};

std::array<std::byte, file_header_bytes> file_header(const MepWriterConfig& config) noexcept {
    std::array<std::byte, file_header_bytes> header{};
    std::memcpy(header.data(), file_magic.data(), file_magic.size());
    store_le(header.data() + 8, config.n_readouts);
    store_le(header.data() + 12, config.packing);
    store_le(header.data() + 16, config.run_id);
    return header;
}

void* untouched(const std::byte* bytes) noexcept {
    return const_cast<std::byte*>(bytes);  // writev() only reads them
}

}  // namespace

MepWriter::MepWriter(const MepWriterConfig& config, CounterPage& page, const std::string& block_name, Threads& threads)
    : config_(config),
      counters_(page.add_block<MepStoreCounter>(block_name)),
      file_(config.path, config.rules, file_header(config)),
      taken_(config.n_slots),
      written_(config.n_slots),
      head_(record_header_bytes + wire::mfp::round_up(4 * std::size_t{config.n_readouts}, unit)) {
    pieces_.reserve(1 + 2 * std::size_t{config.n_readouts});
    counters_.set(MepStoreCounter::bytes_written, file_.length_bytes());
    thread_ = threads.make({.name = "mep_store", .can_be_woken = true}, [this] { return write_one(); });
    thread_->start();
}

MepWriter::~MepWriter() {
    close();
}

bool MepWriter::try_take(const exchange::MepView& mep) noexcept {
    if (!taken_.try_give(mep)) return false;
    thread_->wake();
    return true;
}

std::size_t MepWriter::write_one() noexcept {
    exchange::MepView mep;
    if (!taken_.try_take(mep)) return 0;
    counters_.add(MepStoreCounter::meps_taken);
    fill_pieces(mep);
    if (file_.try_write(pieces_)) {
        counters_.add(MepStoreCounter::meps_written);
        counters_.add(MepStoreCounter::events_written, mep.n_events);
        counters_.set(MepStoreCounter::bytes_written, file_.length_bytes());
    } else {
        counters_.add(MepStoreCounter::meps_lost);
    }
    counters_.set(MepStoreCounter::refusing, file_.refusal().is_on() ? 1 : 0);
    written_.try_give(mep.slot);  // has room for all slots
    return 1;
}

/// Fills in header and lengths.
void MepWriter::fill_head(const exchange::MepView& mep) noexcept {
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
    store_le(at + record_checksum_offset, wire::crc32c(head_));  // of all of head_, with 0 in this field
}

void MepWriter::fill_pieces(const exchange::MepView& mep) noexcept {
    fill_head(mep);
    pieces_.clear();  // has capacity for all pieces
    pieces_.push_back({head_.data(), head_.size()});
    for (const std::span<const std::byte> mfp : mep.mfps) {
        if (mfp.empty()) continue;
        pieces_.push_back({untouched(mfp.data()), mfp.size()});
        const std::size_t pad = wire::mfp::round_up(mfp.size(), unit) - mfp.size();
        if (pad > 0) pieces_.push_back({untouched(padding.data()), pad});
    }
}

void MepWriter::close() noexcept {
    if (std::exchange(is_closed_, true)) return;
    thread_->stop();
    while (write_one() > 0) {  // writes the rest
    }
    file_.close();
}

Notices MepWriter::notices() {
    std::string news = file_.refusal().take_news(config_.path, "multi-event packets are lost");
    return news.empty() ? Notices{} : Notices{{std::move(news), Severity::bad}};
}

}  // namespace anello::store
