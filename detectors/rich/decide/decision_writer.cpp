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

DecisionWriter::DecisionWriter(const DecisionWriterConfig& config, CounterPage& page, const std::string& block_name)
    : config_(validated(config)),
      counters_(page.add_block<StoreCounter>(block_name)),
      waiting_(config.waiting_events),
      file_(config.path, config.rules),
      events_(config.chunk_events),
      rings_(std::size_t{config.chunk_events} * max_rings_per_event) {
    events_.add_to(file_, config.chunk_events);
    rings_.add_to(file_, config.chunk_events);
    if (config.quality) {
        waiting_quality_.emplace(config.waiting_events);
        qualities_.emplace(std::size_t{config.chunk_events} * max_rings_per_event);
        qualities_->add_to(file_, config.chunk_events);
    }
    rows_.reserve(file_.n_columns());
    file_.add_attribute("software", "anello " ANELLO_VERSION);
    file_.add_attribute("format", "anello decisions 1");
    file_.add_attribute("prescale_log2", config.prescale_log2);
    file_.start();
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
        Waiting one{.event = {}, .rings = decisions.rings[event]};
        store::for_each_column(decision_columns,
                               [&](const auto& column) { one.event.*column.member = column.of(decisions, event); });
        [[maybe_unused]] const bool given = waiting_.try_give(one);
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
    Waiting waiting;
    std::size_t n_written = 0;
    for (; n_written < n_most && waiting_.try_take(waiting); ++n_written) {
        write_event(waiting);
        if (events_.size() == config_.chunk_events) write_chunk();
    }
    return n_written;
}

/// Does not allocate, because room for a whole chunk was reserved.
void DecisionWriter::write_event(Waiting& waiting) noexcept {
    const auto& [n_rings, flags, ring] = waiting.rings;
    waiting.event.n_rings = n_rings;
    waiting.event.ring_flags = flags;
    waiting.event.ring_offset = rings_.n_with(file_);
    events_.push(waiting.event);
    for (std::uint32_t i = 0; i < n_rings; ++i) rings_.push(ring[i]);
    if (!qualities_) return;
    EventQuality quality;
    waiting_quality_->try_take(quality);
    for (std::uint32_t i = 0; i < n_rings; ++i) qualities_->push(quality[i]);
}

void DecisionWriter::write_chunk() noexcept {
    const std::size_t n_events = events_.size();
    if (n_events == 0) return;
    rows_.clear();
    events_.list(rows_);
    rings_.list(rows_);
    if (qualities_) qualities_->list(rows_);
    if (file_.try_append(rows_)) {
        counters_.add(StoreCounter::events_stored, n_events);
        counters_.add(StoreCounter::rings_stored, rings_.size());
        counters_.add(StoreCounter::chunks_written);
    } else {
        counters_.add(StoreCounter::errors);
        counters_.add(StoreCounter::events_lost, n_events);
    }
    counters_.set(StoreCounter::refusing, file_.refusal().is_on() ? 1 : 0);
    events_.clear();
    rings_.clear();
    if (qualities_) qualities_->clear();
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
