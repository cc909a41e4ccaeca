/* SPDX-License-Identifier: Apache-2.0 */
/* What a trigger algorithm of the user's own must look like: a shared library with these four functions, in C99 so that
 * any language can make one. Anello loads it at set-up (trigger.plugin), asks for one handle per worker thread, and
 * hands it whole batches. A how-to with an example: docs/how-to/own-trigger.md. */
#ifndef ANELLO_TRIGGER_PLUGIN_ABI_H
#define ANELLO_TRIGGER_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a struct or function below changes its meaning. Structs may grow at their end without that: struct_size
 * says how much of one is there. */
#define ANELLO_TRIGGER_ABI_VERSION 1u
#define ANELLO_MAX_RINGS 8u
/* Leave the choice to Anello: trigger.primitive_ids by the number of rings. */
#define ANELLO_PRIMITIVE_DEFAULT 0xFFFFFFFFu

/* A batch of events, in the order of time; borrowed for the call. Event e has the hits hit_offset[e] to
 * hit_offset[e + 1] - 1: those with a known position and inside trigger.in_time_window_ns. */
typedef struct anello_trigger_batch {
    uint32_t struct_size;
    uint32_t n_events;
    const uint64_t* event_key;    /* [n_events] burst_id << 32 | timestamp_ticks */
    const uint32_t* hit_offset;   /* [n_events + 1], begins with 0 */
    const uint16_t* hit_id;       /* [n_hits] 0..1951 for the RICH */
    const float* x_mm;            /* [n_hits] fit frame */
    const float* y_mm;            /* [n_hits] */
    const int16_t* hit_time_fine; /* [n_hits] from the event's time, 1/256 tick = 97.46 ps */
} anello_trigger_batch;

typedef struct anello_ring {
    float x_mm, y_mm, radius_mm;
    uint32_t n_hits; /* hits attributed to the ring */
} anello_ring;

/* To be filled in. What stands there when decide is called: no rings, default primitives. */
typedef struct anello_trigger_decisions {
    uint32_t struct_size;
    uint32_t reserved;
    uint32_t* n_rings;      /* [n_events] at most ANELLO_MAX_RINGS */
    anello_ring* ring;      /* [n_events * ANELLO_MAX_RINGS]; those of event e begin at e * ANELLO_MAX_RINGS */
    uint32_t* primitive_id; /* [n_events] 0: none is sent; 0x100..0xFFFF; or ANELLO_PRIMITIVE_DEFAULT */
} anello_trigger_decisions;

/* Returns ANELLO_TRIGGER_ABI_VERSION as the library was compiled with. */
uint32_t anello_trigger_abi_version(void);
/* Set-up, once per worker thread, all in the control thread. parameters: the text of trigger.plugin_parameters. NULL on
 * failure, with the reason as text in error (error_size bytes, the last of them for the closing zero). */
void* anello_trigger_create(const char* parameters, char* error, size_t error_size);
/* Called by one thread at a time per handle. 0: done. Anything else: the batch has no rings, and that is counted. */
int anello_trigger_decide(void* handle, const anello_trigger_batch* batch, anello_trigger_decisions* out);
/* After the last call of decide. */
void anello_trigger_destroy(void* handle);

#ifdef __cplusplus
}
#endif

#endif
