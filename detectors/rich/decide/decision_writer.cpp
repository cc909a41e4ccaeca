// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/decision_writer.hpp"

#include "core/assert.hpp"
#include "core/errors.hpp"

namespace anello::rich {
namespace {

constexpr std::size_t most_at_once = 4096;  // events, before the thread checks for other work

const DecisionWriterConfig& validated(const DecisionWriterConfig& config) {
    config.validate();
    return config;
}

}  // namespace

void DecisionWriterConfig::validate() const {
    if (path.empty()) throw ConfigError("store.decisions", "must name a file", "\"\"", "For example decisions.h5.");
    if (prescale_log2 > max_prescale_log2)
        throw ConfigError("store.prescale_log2", "must be at most " + std::to_string(max_prescale_log2),
                          std::to_string(prescale_log2), "0 stores every event.");
    if (prescale_log2 > 0 && select == nullptr)
        throw ConfigError("store.prescale_log2", "needs a selection", std::to_string(prescale_log2), "Use 0.");
    if (chunk_events == 0 || chunk_events > (1U << 22))
        throw ConfigError("chunk_events", "must be 1 to 4194304", std::to_string(chunk_events),
                          "65536 is the default.");
    if (waiting_events == 0 || waiting_events > max_waiting_events)
        throw ConfigError("store.waiting_events", "must be 1 to " + std::to_string(max_waiting_events),
                          std::to_string(waiting_events), "131072 is the default.");
}

template <typename T>
DecisionWriter::Column<T> DecisionWriter::column(const char* name, hid_t type, const char* unit, const char* meaning,
                                                 std::size_t rows, std::vector<hsize_t> row_shape) {
    Column<T> made{
        file_.add_column(name, type, unit, meaning,
                         store::ColumnLayout{.chunk_rows = config_.chunk_events, .row_shape = std::move(row_shape)}),
        {}};
    made.rows.resize(rows);  // touches every page now, so that memory does not grow during the run
    made.rows.clear();
    return made;
}

DecisionWriter::DecisionWriter(const DecisionWriterConfig& config, CounterPage& page, const std::string& block_name)
    : config_(validated(config)),
      counters_(page.add_block<StoreCounter>(block_name)),
      waiting_(config.waiting_events),
      file_(config.path, config.rules) {
    const std::size_t n = config.chunk_events, n_rings = n * max_rings_per_event;
    event_key_ =
        column<std::uint64_t>("event_key", H5T_NATIVE_UINT64, "burst << 32 | tick of 24.951 ns", "which event", n);
    fine_time_ = column<std::uint8_t>("fine_time", H5T_NATIVE_UINT8, "1/256 tick", "time within the tick", n);
    flags_ = column<std::uint8_t>("flags", H5T_NATIVE_UINT8, "bits", "1: a board is missing, 2: hits truncated", n);
    primitive_id_ = column<std::uint16_t>("primitive_id", H5T_NATIVE_UINT16, "", "0: no primitive", n);
    n_rings_ = column<std::uint8_t>("n_rings", H5T_NATIVE_UINT8, "", "rings found", n);
    ring_offset_ = column<std::uint64_t>("ring_offset", H5T_NATIVE_UINT64, "row", "first ring of the event", n);
    sent_ns_ =
        column<std::int64_t>("sent_ns", H5T_NATIVE_INT64, "ns, wall clock", "sent by the front end; 0: not known", n);
    kernel_ns_ =
        column<std::int64_t>("kernel_ns", H5T_NATIVE_INT64, "ns, wall clock", "received by the system; 0: none", n);
    placed_ns_ = column<std::int64_t>("placed_ns", H5T_NATIVE_INT64, "ns, wall clock", "handed on by receive", n);
    built_ns_ = column<std::int64_t>("built_ns", H5T_NATIVE_INT64, "ns, wall clock", "handed on by build", n);
    decided_ns_ = column<std::int64_t>("decided_ns", H5T_NATIVE_INT64, "ns, wall clock", "decided by the trigger", n);
    ring_x_mm_ = column<float>("ring_x_mm", H5T_NATIVE_FLOAT, "mm", "ring centre, fit frame", n_rings);
    ring_y_mm_ = column<float>("ring_y_mm", H5T_NATIVE_FLOAT, "mm", "ring centre, fit frame", n_rings);
    ring_radius_mm_ = column<float>("ring_radius_mm", H5T_NATIVE_FLOAT, "mm", "ring radius", n_rings);
    ring_n_hits_ = column<std::uint16_t>("ring_n_hits", H5T_NATIVE_UINT16, "", "hits on the ring", n_rings);
    if (config.quality) {
        waiting_quality_.emplace(config.waiting_events);
        ring_n_assigned_ = column<std::uint16_t>("ring_n_assigned", H5T_NATIVE_UINT16, "",
                                                 "hits likelier of this ring than of another or of noise", n_rings);
        ring_log_likelihood_ratio_ =
            column<float>("ring_log_likelihood_ratio", H5T_NATIVE_FLOAT, "natural logarithm",
                          "likelihood with this ring over that without it; NaN: not judged", n_rings);
        ring_covariance_mm2_ =
            column<std::array<float, 9>>("ring_covariance_mm2", H5T_NATIVE_FLOAT, "mm^2",
                                         "of centre x, y and radius; NaN: not judged", n_rings, {3, 3});
    }
    file_.add_attribute("software", "anello " ANELLO_VERSION);
    file_.add_attribute("format", "anello decisions 1");
    file_.add_attribute("prescale_log2", config.prescale_log2);
    file_.start();
}

template <typename Visit>
void DecisionWriter::for_each_column(Visit visit) {
    std::apply([&](auto&... each) { (visit(each), ...); },
               std::tie(event_key_, fine_time_, flags_, primitive_id_, n_rings_, ring_offset_, sent_ns_, kernel_ns_,
                        placed_ns_, built_ns_, decided_ns_, ring_x_mm_, ring_y_mm_, ring_radius_mm_, ring_n_hits_));
    if (waiting_quality_)
        std::apply([&](auto&... each) { (visit(each), ...); },
                   std::tie(ring_n_assigned_, ring_log_likelihood_ratio_, ring_covariance_mm2_));
}

void DecisionWriter::take(const DecisionBatch& decisions) noexcept {
    counters_.add(StoreCounter::events_seen, decisions.n_events);
    for (std::uint32_t event = 0; event < decisions.n_events; ++event) {
        const bool selected =
            config_.select == nullptr || config_.select(decisions.event_key[event], config_.prescale_log2);
        if (closed_ || !selected) {
            counters_.add(closed_ ? StoreCounter::events_lost : StoreCounter::events_not_selected);
            continue;
        }
        if (waiting_quality_) waiting_quality_->try_give(decisions.quality[event]);  // given first; has as many places
        [[maybe_unused]] const bool given = waiting_.try_give({.key = decisions.event_key[event],
                                                               .sent_ns = decisions.sent_ns[event],
                                                               .kernel_ns = decisions.kernel_ns[event],
                                                               .placed_ns = decisions.placed_ns[event],
                                                               .built_ns = decisions.built_ns,
                                                               .decided_ns = decisions.decided_ns,
                                                               .rings = decisions.rings[event],
                                                               .primitive_id = decisions.primitive_id[event],
                                                               .fine_time = decisions.fine_time[event],
                                                               .flags = decisions.event_flags[event]});
        ANELLO_ASSERT(given);  // the caller has checked has_room()
    }
}

std::size_t DecisionWriter::write(Nanoseconds now_ns) noexcept {
    const std::size_t n_written = write_waiting(most_at_once);
    if (closed_ || now_ns < next_save_ns_) return n_written;
    next_save_ns_ = now_ns + store::save_every_ns;
    write_chunk();
    if (!file_.flush()) counters_.add(StoreCounter::errors);
    return n_written;
}

std::size_t DecisionWriter::write_waiting(std::size_t n_most) noexcept {
    Event event;
    std::size_t n_written = 0;
    for (; n_written < n_most && waiting_.try_take(event); ++n_written) {
        write_event(event);
        if (waiting_quality_) write_quality(event.rings.n_rings);
        if (event_key_.rows.size() == config_.chunk_events) write_chunk();
    }
    return n_written;
}

/// Does not allocate, because room for a whole chunk was reserved.
void DecisionWriter::write_event(const Event& event) noexcept {
    const EventRings& rings = event.rings;
    event_key_.rows.push_back(event.key);
    fine_time_.rows.push_back(event.fine_time);
    flags_.rows.push_back(event.flags);
    primitive_id_.rows.push_back(event.primitive_id);
    n_rings_.rows.push_back(rings.n_rings);
    ring_offset_.rows.push_back(file_.n_rows(ring_x_mm_.number) + ring_x_mm_.rows.size());
    sent_ns_.rows.push_back(event.sent_ns);
    kernel_ns_.rows.push_back(event.kernel_ns);
    placed_ns_.rows.push_back(event.placed_ns);
    built_ns_.rows.push_back(event.built_ns);
    decided_ns_.rows.push_back(event.decided_ns);
    for (std::uint32_t i = 0; i < rings.n_rings; ++i) {
        ring_x_mm_.rows.push_back(rings.ring[i].x_mm);
        ring_y_mm_.rows.push_back(rings.ring[i].y_mm);
        ring_radius_mm_.rows.push_back(rings.ring[i].radius_mm);
        ring_n_hits_.rows.push_back(rings.ring[i].n_hits);
    }
}

void DecisionWriter::write_quality(std::uint32_t n_rings) noexcept {
    EventQuality quality;
    waiting_quality_->try_take(quality);
    for (std::uint32_t i = 0; i < n_rings; ++i) {
        ring_n_assigned_.rows.push_back(quality[i].n_assigned);
        ring_log_likelihood_ratio_.rows.push_back(quality[i].log_likelihood_ratio);
        ring_covariance_mm2_.rows.push_back(quality[i].covariance_mm2);
    }
}

void DecisionWriter::write_chunk() noexcept {
    const std::size_t n_events = event_key_.rows.size(), n_rings = ring_x_mm_.rows.size();
    if (n_events == 0) return;
    std::array<store::ColumnFile::Rows, n_columns> rows{};
    std::size_t n_used = 0;
    for_each_column([&](auto& each) { rows[n_used++] = {each.number, each.rows.data(), each.rows.size()}; });
    if (file_.try_append(std::span(rows).first(n_used))) {
        counters_.add(StoreCounter::events_stored, n_events);
        counters_.add(StoreCounter::rings_stored, n_rings);
        counters_.add(StoreCounter::chunks_written);
    } else {
        counters_.add(StoreCounter::errors);
        counters_.add(StoreCounter::events_lost, n_events);
    }
    counters_.set(StoreCounter::refusing, file_.refusal().is_on() ? 1 : 0);
    for_each_column([](auto& each) { each.rows.clear(); });
}

bool DecisionWriter::close() noexcept {
    if (closed_) return counters_[StoreCounter::errors] == 0;
    write_waiting(waiting_.capacity());
    write_chunk();
    closed_ = true;
    if (!file_.close()) counters_.add(StoreCounter::errors);
    return counters_[StoreCounter::errors] == 0;
}

}  // namespace anello::rich
