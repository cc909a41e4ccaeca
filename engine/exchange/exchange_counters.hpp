// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The ledger of a farm at its end:
///   generator   mfps = readout mfps_taken
///   readouts    mfps_taken = mfps_sent + mfps_lost + mfps_lost_to_dead_builder + mfps_too_late + mfps_before_start +
///               mfps_left_at_end + mfps_in_flight_at_end
///   transport   sum(mfps_sent + in flight at the end - sent_to_dead_builder) = sum(mfps_received + mfps_malformed +
///               mfps_wrong + mfps_late + mfps_duplicate + mfps_unexpected + mfps_cut + mfps_never_came -
///               mfps_repeated - taken_from_dead_readout) + MFPs with numbers above the last one that the builder
///               received; summed over the units that lived to the end. A message that never came is known by its
///               number only if a later one of the same readout unit arrived.
///   builders    meps_opened = meps_complete + meps_incomplete + meps_left
///               readout units x (meps_complete + meps_incomplete) = MFPs in them + MFPs that they lack
///               sources_missing = sources_absent + sources_gone + sources_spoilt + sources_timed_out
///   manager     meps_assigned = meps_complete + meps_incomplete + meps_lost_with_builder + meps_open_at_end
///   builders    fragments_verified = fragments_ok + fragments_wrong_checksum
namespace anello::exchange {

enum class GeneratorCounter : std::uint8_t { mfps, events, bytes, mfps_dropped, waits_for_room, behind_ns_max, count };

enum class ReadoutCounter : std::uint8_t {
    assigned,
    mfps_taken,
    mfps_sent,
    bytes_sent,
    mfps_lost,
    mfps_lost_to_dead_builder,
    mfps_too_late,
    mfps_before_start,
    mfps_left_at_end,
    mfps_in_flight_at_end,
    absences_told,
    sent_to_dead_builder,
    assignments_refused,
    waits_for_transport,
    barriers_overruled,
    count
};

enum class BuilderCounter : std::uint8_t {
    meps_opened,
    meps_complete,
    meps_incomplete,
    events_built,
    bytes_built,
    meps_timed_out,
    meps_left,
    sources_missing,
    sources_absent,
    sources_gone,
    sources_spoilt,
    sources_timed_out,
    mfps_received,
    bytes_received,
    mfps_malformed,
    mfps_wrong,
    mfps_late,
    mfps_duplicate,
    mfps_unexpected,
    mfps_cut,
    mfps_never_came,
    mfps_repeated,
    taken_from_dead_readout,
    fragments_verified,
    fragments_ok,
    fragments_wrong_checksum,
    waits_for_sink,
    slots_used,
    count
};

enum class ManagerCounter : std::uint8_t {
    meps_assigned,
    meps_complete,
    meps_incomplete,
    meps_lost_with_builder,
    lost_and_not_noted,
    meps_open_at_end,
    complete_at_lost_builders,
    incomplete_at_lost_builders,
    sources_missing,
    credits,
    credits_refused,
    nodes_joined,
    nodes_lost,
    waits_for_credit,
    waits_for_standby,
    takeovers,
    count
};

enum class StationCounter : std::uint8_t {
    control_sent,
    control_received,
    control_resent,
    control_out_of_order,
    malformed,
    waits_for_messages,
    sleeps,
    waited_for_sink_ns,
    waited_for_transport_ns,
    waited_for_credit_ns,
    waited_for_parts_ns,
    waited_for_data_ns,
    count
};

}  // namespace anello::exchange

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 6> counter_labels<exchange::GeneratorCounter>{{
    {"mfps", "MFPs written into the readout unit's buffers", Place::mfps},
    {"events", "events in them", Place::informative},
    {"bytes", "their length", Place::informative, in_bytes},
    {"mfps_dropped", "MFPs not written because no buffer was free", Place::verdict},
    {"waits_for_room", "steps that found no free buffer and waited", Place::informative},
    {"behind_ns_max", "longest time by which a MFP was written after it was due", Place::informative, gauge_in_ns},
}};

template <>
inline constexpr std::array<CounterLabel, 15> counter_labels<exchange::ReadoutCounter>{{
    {"assigned", "multi-event packets that a builder was named for, or asked for", Place::informative},
    {"mfps_taken", "MFPs taken from the source", Place::mfps},
    {"mfps_sent", "MFPs that the transport took to their builder", Place::mfps},
    {"bytes_sent", "their length", Place::informative, in_bytes},
    {"mfps_lost", "MFPs that the transport knows to be lost", Place::mfps},
    {"mfps_lost_to_dead_builder", "MFPs not sent, or not wholly, because their builder was gone", Place::mfps},
    {"mfps_too_late", "MFPs whose slot at the builder was given to another multi-event packet before they were sent",
     Place::mfps},
    {"mfps_before_start", "MFPs of events before the first that this unit was to read out", Place::mfps},
    {"mfps_left_at_end", "MFPs of events after the last of the run, or never asked for", Place::mfps},
    {"mfps_in_flight_at_end", "MFPs of which the transport had not said when the node ended whether they went",
     Place::mfps},
    {"absences_told", "multi-event packets that the source has nothing of", Place::informative},
    {"sent_to_dead_builder", "of mfps_sent: to builders that died later", Place::mfps},
    {"assignments_refused", "assignments and requests of builders or slots that cannot be", Place::informative},
    {"waits_for_transport", "attempts to send that found no room in the transport", Place::informative},
    {"barriers_overruled", "messages sent though other readout units were behind and had been waited for",
     Place::informative},
}};

template <>
inline constexpr std::array<CounterLabel, 28> counter_labels<exchange::BuilderCounter>{{
    {"meps_opened", "multi-event packets of which a part came, or which were assigned", Place::meps},
    {"meps_complete", "handed on with the MFPs of all readout units of the run", Place::meps},
    {"meps_incomplete", "handed on without some", Place::meps},
    {"events_built", "events in both", Place::informative},
    {"bytes_built", "MFPs' bytes in both", Place::informative, in_bytes},
    {"meps_timed_out", "of meps_incomplete: because of the timeout", Place::informative},
    {"meps_left",
     "of meps_opened: neither whole nor given up when the node ended, or no room for them in the next stage",
     Place::meps},
    {"sources_missing", "MFPs that multi-event packets lack when they are closed, for all causes", Place::parts},
    {"sources_absent", "of sources_missing: the readout unit said that it has none", Place::parts},
    {"sources_gone", "of sources_missing: the readout unit was gone, or had not come yet", Place::parts},
    {"sources_spoilt", "of sources_missing: the MFP came in part only, malformed, or as another than it was said to be",
     Place::parts},
    {"sources_timed_out", "of sources_missing: not there at the timeout", Place::parts},
    {"mfps_received", "MFPs received whole, with a right header, and used", Place::mfps},
    {"bytes_received", "their length", Place::informative, in_bytes},
    {"mfps_malformed", "MFPs received with a wrong header or length; block builder.mfp says which", Place::mfps},
    {"mfps_wrong", "MFPs of another source, run or event than their message says", Place::mfps},
    {"mfps_late", "MFPs that came after their multi-event packet was handed on", Place::mfps},
    {"mfps_duplicate", "MFPs that came twice", Place::mfps},
    {"mfps_unexpected", "MFPs for a slot or multi-event packet that was not offered, or too long for it", Place::mfps},
    {"mfps_cut", "MFPs of which some bytes came, and the others never, or not before the node ended", Place::mfps},
    {"mfps_never_came", "MFPs of which nothing came, by the numbers that readout units give their messages",
     Place::mfps},
    {"mfps_repeated", "of the MFPs counted above as come: their number had come before", Place::mfps},
    {"taken_from_dead_readout", "of the MFPs counted above, repeated ones aside: from readout units that died later",
     Place::mfps},
    {"fragments_verified", "fragments whose checksum was compared with their bytes", Place::fragments},
    {"fragments_ok", "of fragments_verified: right", Place::fragments},
    {"fragments_wrong_checksum", "of fragments_verified: wrong", Place::fragments},
    {"waits_for_sink", "attempts to hand on that found the next stage full", Place::informative},
    {"slots_used", "slots that hold a multi-event packet now", Place::informative, gauge},
}};

template <>
inline constexpr std::array<CounterLabel, 16> counter_labels<exchange::ManagerCounter>{{
    {"meps_assigned", "multi-event packets assigned to a builder", Place::meps},
    {"meps_complete", "of meps_assigned: built with all readout units of the run", Place::meps},
    {"meps_incomplete", "of meps_assigned: built without some of them", Place::meps},
    {"meps_lost_with_builder",
     "of meps_assigned: with a builder that died, or was taken for dead, and did not "
     "report them",
     Place::meps},
    {"lost_and_not_noted", "of meps_lost_with_builder: not listed one by one, as so many builders were lost before",
     Place::meps},
    {"meps_open_at_end",
     "of meps_assigned: with a builder that lived, and had not reported them when the "
     "manager ended",
     Place::meps},
    {"complete_at_lost_builders", "of meps_complete: at builders that were lost later", Place::informative},
    {"incomplete_at_lost_builders", "of meps_incomplete: at builders that were lost later", Place::informative},
    {"sources_missing", "MFPs that meps_incomplete lack", Place::informative},
    {"credits", "slots that builders offered", Place::informative},
    {"credits_refused", "offers of slots that cannot be, or are not what was assigned", Place::informative},
    {"nodes_joined", "nodes that came, and came again", Place::informative},
    {"nodes_lost", "nodes that went down, fell silent or never came", Place::informative},
    {"waits_for_credit", "steps in which no builder had a slot free", Place::informative},
    {"waits_for_standby", "steps in which the standby, or those who may follow it, had not been heard of for too long",
     Place::informative},
    {"takeovers", "1 where this is the standby, and it took over: its account is the farm's", Place::meps},
}};

template <>
inline constexpr std::array<CounterLabel, 12> counter_labels<exchange::StationCounter>{{
    {"control_sent", "messages between units other than MFPs, without repetitions", Place::informative},
    {"control_received", "those that came, in order", Place::informative},
    {"control_resent", "repetitions, where the transport may lose", Place::informative},
    {"control_out_of_order", "messages that came twice or before one that is missing", Place::informative},
    {"malformed", "messages that are none of ours, or of a unit that cannot be", Place::informative},
    {"waits_for_messages", "steps in which all control messages were on their way", Place::informative},
    {"sleeps", "times that the thread slept because there was nothing to do", Place::informative},
    {"waited_for_sink_ns", "time from a step that did nothing to the next, when the stage after the builder was full",
     Place::informative, in_ns},
    {"waited_for_transport_ns", "the same, when the transport took no more MFPs", Place::informative, in_ns},
    {"waited_for_credit_ns", "the same, when there were only MFPs that no builder was named for", Place::informative,
     in_ns},
    {"waited_for_parts_ns", "the same, when the builder had multi-event packets that lacked parts", Place::informative,
     in_ns},
    {"waited_for_data_ns", "the same, when there was nothing at all", Place::informative, in_ns},
}};

}  // namespace anello
