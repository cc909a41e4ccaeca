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
    {"records_in", "records taken from the previous stage; each has one outcome", Place::records},
    {"records_sent", "records accepted by at least one subscriber's ring, or by libzmq", Place::records},
    {"bytes_sent", "length of the records in records_sent, each counted once", Place::informative, in_bytes},
    {"records_waited", "records that found no room at first (when_full wait)", Place::informative},
    {"records_dropped_full", "records for which no subscriber had room (when_full drop)", Place::records},
    {"records_dropped_nobody", "records for which there was no subscriber (when_full drop)", Place::records},
    {"records_dropped_too_large", "records longer than the limit announced at the start", Place::records},
    {"records_dropped_failed", "records that libzmq refused for another reason", Place::records},
    {"records_dropped_at_end", "records that still waited for room when the run ended", Place::records},
    {"records_left_at_end", "part of records_sent: records that libzmq still held when the run ended, and discarded",
     Place::informative},
}};

template <>
inline constexpr std::array<CounterLabel, 7> counter_labels<publish::SubscriberCounter>{{
    {"subscriptions", "subscribers that used this place, one after the other", Place::records},
    {"records_offered", "records published while a subscriber had this place", Place::records},
    {"records_sent", "part of records_offered: written to the subscriber's ring", Place::records},
    {"bytes_sent", "length of the records in records_sent", Place::informative, in_bytes},
    {"records_dropped_full", "part of records_offered: the subscriber's ring had no room", Place::records},
    {"records_dropped_gone", "part of records_offered: the subscriber had died", Place::records},
    {"bytes_unread_at_death", "bytes in its ring that the subscriber had not read when it died", Place::informative,
     in_bytes},
}};

template <>
inline constexpr std::array<CounterLabel, 3> counter_labels<publish::AdmissionCounter>{{
    {"admitted", "subscribers admitted", Place::informative},
    {"refused_too_many", "subscribers refused because there were publish.max_subscribers already", Place::informative},
    {"refused_small_ring", "subscribers refused because the largest record does not fit into their ring",
     Place::informative},
}};

}  // namespace anello
