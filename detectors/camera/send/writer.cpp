// SPDX-License-Identifier: Apache-2.0
#include "camera/send/writer.hpp"

#include <tuple>

#include "core/errors.hpp"

namespace anello::camera {
namespace {

/// HDF5 reads and writes whole chunks of this many bytes; the end of one write and the begin of the next share one.
constexpr std::size_t record_chunk_bytes = 1U << 20;

const CameraWriterConfig& validated(const CameraWriterConfig& config) {
    config.validate();
    return config;
}

}  // namespace

void CameraWriterConfig::validate() const {
    if (path.empty()) throw ConfigError("camera_send.file", "must name a file", "\"\"", "For example camera.h5.");
    if (chunk_events == 0 || chunk_events > (1U << 20))
        throw ConfigError("camera_send.chunk_events", "must be 1 to 1048576", std::to_string(chunk_events),
                          "4096 is the default.");
    if (chunk_bytes < (1U << 10) || chunk_bytes > (1U << 30))
        throw ConfigError("camera_send.chunk_bytes", "must be 1024 to 1073741824", std::to_string(chunk_bytes),
                          "16 MiB is the default.");
}

template <typename T>
CameraWriter::Column<T> CameraWriter::column(const char* name, hid_t type, const char* unit, const char* meaning,
                                             std::size_t rows, std::size_t file_chunk_rows) {
    Column<T> made{file_.add_column(name, type, unit, meaning, file_chunk_rows), {}};
    made.rows.resize(rows);  // touches every page now, so that memory does not grow while the run fills them
    made.rows.clear();
    return made;
}

CameraWriter::CameraWriter(const CameraWriterConfig& config, CounterPage& page, const std::string& block_name)
    : config_(validated(config)),
      counters_(page.add_block<CameraStoreCounter>(block_name)),
      file_(config.path, config.rules) {
    const std::size_t n = config.chunk_events;
    run_id_ = column<std::uint32_t>("run_id", H5T_NATIVE_UINT32, "", "run of the front ends", n, n);
    event_number_ = column<std::uint32_t>("event_number", H5T_NATIVE_UINT32, "", "within the run, wraps", n, n);
    timestamp_ns_ = column<std::uint64_t>("timestamp_ns", H5T_NATIVE_UINT64, "ns", "trigger time, site's clock", n, n);
    n_present_ = column<std::uint16_t>("n_present", H5T_NATIVE_UINT16, "", "boards in the event", n, n);
    charge_sum_ = column<float>("charge_sum", H5T_NATIVE_FLOAT, "counts, high gain",
                                "charge of the pixels above threshold", n, n);
    n_pixels_above_ = column<std::uint16_t>("n_pixels_above", H5T_NATIVE_UINT16, "", "pixels above threshold", n, n);
    multiplicity_ = column<std::uint8_t>("multiplicity", H5T_NATIVE_UINT8, "",
                                         "most pixels above threshold among one and its neighbours", n, n);
    kept_by_ = column<std::uint8_t>("kept_by", H5T_NATIVE_UINT8, "",
                                    "1 no filter, 2 signal, 3 fraction, 4 prescale, 5 incomplete", n, n);
    trigger_tag_ = column<std::uint8_t>("trigger_tag", H5T_NATIVE_UINT8, "",
                                        "bits: 1 mono, 2 stereo, 4 calibration, 8 single photo-electrons, 16 software, "
                                        "32 pedestal, 64 slow control; 0 not known",
                                        n, n);
    record_offset_ = column<std::uint64_t>("record_offset", H5T_NATIVE_UINT64, "byte", "of the event in records", n, n);
    record_bytes_ = column<std::uint32_t>("record_bytes", H5T_NATIVE_UINT32, "byte", "length of its record", n, n);
    records_ = column<std::byte>("records", H5T_NATIVE_UINT8, "byte", "records, one after the other",
                                 config.chunk_bytes, record_chunk_bytes);
    file_.add_attribute("software", "anello " ANELLO_VERSION);
    file_.add_attribute("format", "anello camera events 1");
    file_.start();
}

template <typename Visit>
void CameraWriter::for_each_column(Visit visit) {
    std::apply([&](auto&... each) { (visit(each), ...); },
               std::tie(run_id_, event_number_, timestamp_ns_, n_present_, charge_sum_, n_pixels_above_, multiplicity_,
                        kept_by_, trigger_tag_, record_offset_, record_bytes_, records_));
}

/// Room was reserved for a whole chunk: nothing is allocated here.
void CameraWriter::write(const CameraEventView& event, const Verdict& verdict,
                         std::span<const std::byte> record) noexcept {
    counters_.add(CameraStoreCounter::events_seen);
    if (closed_ || record.size() > config_.chunk_bytes) {
        counters_.add(CameraStoreCounter::events_lost);
        return;
    }
    if (run_id_.rows.size() == config_.chunk_events || records_.rows.size() + record.size() > config_.chunk_bytes)
        write_chunk();
    run_id_.rows.push_back(event.run_id);
    event_number_.rows.push_back(event.event_number);
    timestamp_ns_.rows.push_back(event.timestamp_ns);
    n_present_.rows.push_back(static_cast<std::uint16_t>(event.n_present));
    charge_sum_.rows.push_back(verdict.charge_sum);
    n_pixels_above_.rows.push_back(verdict.n_pixels_above);
    multiplicity_.rows.push_back(verdict.multiplicity);
    kept_by_.rows.push_back(static_cast<std::uint8_t>(verdict.kept_by));
    trigger_tag_.rows.push_back(event.trigger_tag);
    record_offset_.rows.push_back(file_.n_rows(records_.number) + records_.rows.size());
    record_bytes_.rows.push_back(static_cast<std::uint32_t>(record.size()));
    records_.rows.insert(records_.rows.end(), record.begin(), record.end());
}

void CameraWriter::write_chunk() noexcept {
    const std::size_t n_events = run_id_.rows.size(), n_bytes = records_.rows.size();
    if (n_events == 0) return;
    std::array<store::ColumnFile::Rows, n_columns> rows{};
    for_each_column([&](auto& each) { rows[each.number] = {each.number, each.rows.data(), each.rows.size()}; });
    if (file_.try_append(rows)) {
        counters_.add(CameraStoreCounter::events_stored, n_events);
        counters_.add(CameraStoreCounter::bytes_stored, n_bytes);
        counters_.add(CameraStoreCounter::chunks_written);
    } else {
        counters_.add(CameraStoreCounter::errors);
        counters_.add(CameraStoreCounter::events_lost, n_events);
    }
    counters_.set(CameraStoreCounter::refusing, file_.refusal().is_on() ? 1 : 0);
    for_each_column([](auto& each) { each.rows.clear(); });
}

void CameraWriter::save(Nanoseconds now_ns) noexcept {
    if (closed_ || now_ns < next_save_ns_) return;
    next_save_ns_ = now_ns + store::save_every_ns;
    write_chunk();
    if (!file_.flush()) counters_.add(CameraStoreCounter::errors);
}

bool CameraWriter::close() noexcept {
    if (closed_) return counters_[CameraStoreCounter::errors] == 0;
    write_chunk();
    closed_ = true;
    if (!file_.close()) counters_.add(CameraStoreCounter::errors);
    return counters_[CameraStoreCounter::errors] == 0;
}

}  // namespace anello::camera
