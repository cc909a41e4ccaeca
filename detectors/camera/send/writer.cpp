// SPDX-License-Identifier: Apache-2.0
#include "camera/send/writer.hpp"

#include <tuple>

#include "core/errors.hpp"

namespace anello::camera {
namespace {

const CameraWriterConfig& validated(const CameraWriterConfig& config) {
    config.validate();
    return config;
}

}  // namespace

void CameraWriterConfig::validate() const {
    if (path.empty()) throw ConfigError("camera_send.file", "must name a file", "\"\"", "For example camera.h5.");
    if (chunk_events == 0 || chunk_events > (1U << 20))
        throw ConfigError("chunk_events", "must be 1 to 1048576", std::to_string(chunk_events), "4096 is the default.");
    if (chunk_bytes < (1U << 10) || chunk_bytes > (1U << 30))
        throw ConfigError("chunk_bytes", "must be 1024 to 1073741824", std::to_string(chunk_bytes),
                          "16 MiB is the default.");
}

template <typename T>
HeldColumn<T> CameraWriter::column(const char* name, hid_t type, const char* unit, const char* meaning) {
    const std::size_t n = config_.chunk_events;
    return {file_, name, type, unit, meaning, n, {n}};
}

CameraWriter::CameraWriter(const CameraWriterConfig& config, CounterPage& page, const std::string& block_name)
    : config_(validated(config)),
      counters_(page.add_block<CameraStoreCounter>(block_name)),
      file_(config.path, config.rules) {
    run_id_ = column<std::uint32_t>("run_id", H5T_NATIVE_UINT32, "", "run of the front ends");
    event_number_ = column<std::uint32_t>("event_number", H5T_NATIVE_UINT32, "", "within the run, wraps");
    timestamp_ns_ = column<std::uint64_t>("timestamp_ns", H5T_NATIVE_UINT64, "ns", "trigger time, site's clock");
    n_present_ = column<std::uint16_t>("n_present", H5T_NATIVE_UINT16, "", "boards in the event");
    charge_sum_ =
        column<float>("charge_sum", H5T_NATIVE_FLOAT, "counts, high gain", "charge of the pixels above threshold");
    n_pixels_above_ = column<std::uint16_t>("n_pixels_above", H5T_NATIVE_UINT16, "", "pixels above threshold");
    multiplicity_ = column<std::uint8_t>("multiplicity", H5T_NATIVE_UINT8, "",
                                         "most pixels above threshold among one and its neighbours");
    kept_by_ = column<std::uint8_t>("kept_by", H5T_NATIVE_UINT8, "",
                                    "1 no filter, 2 signal, 3 fraction, 4 prescale, 5 incomplete, 6 calibration");
    trigger_tag_ = column<std::uint8_t>("trigger_tag", H5T_NATIVE_UINT8, "",
                                        "bits: 1 mono, 2 stereo, 4 calibration, 8 single photo-electrons, 16 software, "
                                        "32 pedestal, 64 slow control; 0 not known");
    boards_ = config.table ? make_table_columns(file_, config.chunk_events, config.chunk_bytes, *config.table)
                           : make_record_columns(file_, config.chunk_events, config.chunk_bytes);
    for_each_column([&](auto& each) { all_rows_.push_back(each.in_file()); });
    boards_->list(all_rows_);  // allocates all_rows_ now
    file_.add_attribute("software", "anello " ANELLO_VERSION);
    file_.add_attribute("format", config.table ? "anello camera events 2, table" : "anello camera events 1");
    file_.start();
}

template <typename Visit>
void CameraWriter::for_each_column(Visit visit) {
    std::apply([&](auto&... each) { (visit(each), ...); },
               std::tie(run_id_, event_number_, timestamp_ns_, n_present_, charge_sum_, n_pixels_above_, multiplicity_,
                        kept_by_, trigger_tag_));
}

/// The constructor reserved room for a whole chunk, so that nothing is allocated here.
void CameraWriter::write(const CameraEventView& event, const Verdict& verdict, const EncodedEvent& encoded) noexcept {
    counters_.add(CameraStoreCounter::events_seen);
    const std::size_t n_bytes = boards_->size_of(encoded);
    if (closed_ || n_bytes == 0 || n_bytes > config_.chunk_bytes) {
        counters_.add(CameraStoreCounter::events_lost);
        return;
    }
    if (run_id_.rows.size() == config_.chunk_events || boards_->n_bytes() + n_bytes > config_.chunk_bytes)
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
    boards_->add(event, encoded);
    counters_.add(CameraStoreCounter::boards_misfit, encoded.table.n_misfits);
}

void CameraWriter::write_chunk() noexcept {
    const std::size_t n_events = run_id_.rows.size(), n_bytes = boards_->n_bytes();
    if (n_events == 0) return;
    all_rows_.clear();
    for_each_column([&](auto& each) { all_rows_.push_back(each.in_file()); });
    boards_->list(all_rows_);
    if (file_.try_append(all_rows_)) {
        counters_.add(CameraStoreCounter::events_stored, n_events);
        counters_.add(CameraStoreCounter::bytes_stored, n_bytes);
        counters_.add(CameraStoreCounter::chunks_written);
    } else {
        counters_.add(CameraStoreCounter::errors);
        counters_.add(CameraStoreCounter::events_lost, n_events);
    }
    counters_.set(CameraStoreCounter::refusing, file_.refusal().is_on() ? 1 : 0);
    for_each_column([](auto& each) { each.rows.clear(); });
    boards_->clear();
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
