/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a user's trigger algorithm: a shared library with these four functions, in C99 so that any language
 * can make one. Anello loads it at set-up (trigger.plugin), creates one handle per worker thread, and passes whole
 * batches to it. docs/how-to/own-trigger.md explains it with an example. */
#ifndef ANELLO_TRIGGER_PLUGIN_ABI_H
#define ANELLO_TRIGGER_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This number increases when a struct or function below changes its meaning. New members at the end of a struct do not
 * change it: struct_size gives the size in use. */
#define ANELLO_TRIGGER_ABI_VERSION 1u
#define ANELLO_MAX_RINGS 8u
/* Leaves the choice to Anello: trigger.primitive_ids by the number of rings. */
#define ANELLO_PRIMITIVE_DEFAULT 0xFFFFFFFFu

/* A batch of events, sorted by time and borrowed for the call. Event e has the hits hit_offset[e] to
 * hit_offset[e + 1] - 1: those with a known position and inside trigger.in_time_window_ns. */
typedef struct anello_trigger_batch {
    uint32_t struct_size;
    uint32_t n_events;
    const uint64_t* event_key;    /* [n_events] burst_id << 32 | timestamp_ticks */
    const uint32_t* hit_offset;   /* [n_events + 1], begins with 0 */
    const uint16_t* hit_id;       /* [n_hits] 0..1951 for the RICH */
    const float* x_mm;            /* [n_hits] fit frame */
    const float* y_mm;            /* [n_hits] */
    const int16_t* hit_time_fine; /* [n_hits] relative to the event's time, 1/256 tick = 97.46 ps */
} anello_trigger_batch;

typedef struct anello_ring {
    float x_mm, y_mm, radius_mm;
    uint32_t n_hits; /* hits attributed to the ring */
} anello_ring;

/* The algorithm fills this in. Before decide is called it has no rings and default primitives. */
typedef struct anello_trigger_decisions {
    uint32_t struct_size;
    uint32_t reserved;
    uint32_t* n_rings;      /* [n_events] at most ANELLO_MAX_RINGS */
    anello_ring* ring;      /* [n_events * ANELLO_MAX_RINGS]; those of event e begin at e * ANELLO_MAX_RINGS */
    uint32_t* primitive_id; /* [n_events] 0: no primitive is sent; 0x100..0xFFFF; or ANELLO_PRIMITIVE_DEFAULT */
} anello_trigger_decisions;

/* Returns the ANELLO_TRIGGER_ABI_VERSION with which the library was compiled. */
uint32_t anello_trigger_abi_version(void);
/* Called at set-up by the control thread, once per worker thread. parameters: the text of trigger.plugin_parameters.
 * Returns NULL on failure, with the reason as text in error (error_size bytes including the closing zero). */
void* anello_trigger_create(const char* parameters, char* error, size_t error_size);
/* Called by one thread at a time per handle. Returns 0 on success; otherwise the batch has no rings, and is counted. */
int anello_trigger_decide(void* handle, const anello_trigger_batch* batch, anello_trigger_decisions* out);
/* Called after the last call of decide. */
void anello_trigger_destroy(void* handle);

#ifdef __cplusplus
}
#endif

#endif
