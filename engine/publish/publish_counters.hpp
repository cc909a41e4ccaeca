// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The balances of publishing. Once closed:
///   records_in = records_sent + records_dropped_full + _nobody + _too_large + _failed + _at_end
///   of each subscriber: records_offered = records_sent + records_dropped_full + records_dropped_gone
namespace anello::publish {

enum class PublishCounter : std::uint8_t {
    records_in,
    records_sent,
    bytes_sent,
    records_waited,
    records_dropped_full,
    records_dropped_nobody,
    records_dropped_too_large,
    records_dropped_failed,
    records_dropped_at_end,
    records_left_at_end,
    count
};

/// For each place of a subscriber, whichever subscriber uses it.
enum class SubscriberCounter : std::uint8_t {
    subscriptions,
    records_offered,
    records_sent,
    bytes_sent,
    records_dropped_full,
    records_dropped_gone,
    bytes_unread_at_death,
    count
};

/// For the thread that admits subscribers.
enum class AdmissionCounter : std::uint8_t { admitted, refused_too_many, refused_small_ring, count };

}  // namespace anello::publish

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 10> counter_labels<publish::PublishCounter>{{
    {"records_in", "records taken from the stage before, each with one outcome", Place::records},
    {"records_sent", "records that at least one subscriber's ring, or libzmq, took", Place::records},
    {"bytes_sent", "length of these, each once", Place::informative, in_bytes},
    {"records_waited", "records that found no room at first (when_full wait)", Place::informative},
    {"records_dropped_full", "records for which nobody had room (when_full drop)", Place::records},
    {"records_dropped_nobody", "records for which there was no subscriber (when_full drop)", Place::records},
    {"records_dropped_too_large", "records longer than was announced at the start", Place::records},
    {"records_dropped_failed", "records that libzmq refused for another reason", Place::records},
    {"records_dropped_at_end", "records that still waited for room when the run ended", Place::records},
    {"records_left_at_end", "of records_sent: libzmq still had them when the run ended, and gave them up",
     Place::informative},
}};

template <>
inline constexpr std::array<CounterLabel, 7> counter_labels<publish::SubscriberCounter>{{
    {"subscriptions", "subscribers that had this place, one after the other", Place::records},
    {"records_offered", "records that came while it was there", Place::records},
    {"records_sent", "of these: laid into its ring", Place::records},
    {"bytes_sent", "length of these", Place::informative, in_bytes},
    {"records_dropped_full", "of records_offered: its ring had no room", Place::records},
    {"records_dropped_gone", "of records_offered: it was found to be gone", Place::records},
    {"bytes_unread_at_death", "laid into its ring and not read, when it went without closing", Place::informative,
     in_bytes},
}};

template <>
inline constexpr std::array<CounterLabel, 3> counter_labels<publish::AdmissionCounter>{{
    {"admitted", "subscribers let in", Place::informative},
    {"refused_too_many", "subscribers turned away: publish.max_subscribers are there", Place::informative},
    {"refused_small_ring", "subscribers turned away: the largest record does not fit into their ring",
     Place::informative},
}};

}  // namespace anello
