// SPDX-License-Identifier: Apache-2.0
// The ring's protocol with its sleeping and waking, over processors that hold stores back (x86: one store buffer each,
// in order). docs/reference/stream-layout.md says the same in words; SharedSendEnd and SharedReceiveEnd in C++.
//
//   spin -a ring.pml && cc -O1 -o pan pan.c && ./pan        no lost wake-up, nothing read before it is written
//   spin -DWEAK ...     the stores of head and tail are plain: a wake-up is lost, spin finds how
//   spin -DEARLY ...    head is published before its bytes: spin finds that they are read too early
//   spin -DLATE ...     the bell is taken after the wish is stored: a wake-up is lost
//
// N_TOTAL cells pass through a ring of N_RING. A cell holds its number in the stream; the receiver asserts it. The end
// states are both sides done: any other standstill is a lost wake-up, which spin reports as an invalid end state.
#define N_RING 2
#define N_TOTAL 5
#define N_BUFFERED 3

byte cell[N_RING];
byte head, tail;                       // as they lie in memory
bool receiver_waits, sender_waits, ended;
byte space_wanted;
byte data_bell, space_bell;            // bytes on the socket, to the receiver and to the sender
bool line_was_full;

// Without waiting: a socket that takes no more is rung already. Honest sides never find it so.
#define N_LINE 3
inline ring(bell) { atomic { if :: bell < N_LINE -> bell++ :: else -> line_was_full = true fi } }
inline take_one(bell) { atomic { if :: bell > 0 -> bell-- :: else fi } }

// A store buffer of a processor: stores leave it in their order, at any time, and all at a locked instruction.
#define CELL 1
#define INDEX 2
typedef Store { byte what; byte where; byte value };
typedef Buffer { Store store[N_BUFFERED]; byte n };
Buffer buffer[2];
#define SENDER 0
#define RECEIVER 1

inline drain_one(who) {
    if
    :: buffer[who].store[0].what == CELL -> cell[buffer[who].store[0].where] = buffer[who].store[0].value
    :: buffer[who].store[0].what == INDEX && who == SENDER -> head = buffer[who].store[0].value
    :: buffer[who].store[0].what == INDEX && who == RECEIVER -> tail = buffer[who].store[0].value
    fi;
    buffer[who].store[0].what = buffer[who].store[1].what;
    buffer[who].store[0].where = buffer[who].store[1].where;
    buffer[who].store[0].value = buffer[who].store[1].value;
    buffer[who].store[1].what = buffer[who].store[2].what;
    buffer[who].store[1].where = buffer[who].store[2].where;
    buffer[who].store[1].value = buffer[who].store[2].value;
    buffer[who].n = buffer[who].n - 1
}
inline put(who, kind, place, what_value) {
    atomic {
        buffer[who].n < N_BUFFERED;
        buffer[who].store[buffer[who].n].what = kind;
        buffer[who].store[buffer[who].n].where = place;
        buffer[who].store[buffer[who].n].value = what_value;
        buffer[who].n = buffer[who].n + 1
    }
}
// What makes a store sequentially consistent: nothing of this processor is held back any more.
inline fence(who) {
#ifdef WEAK
    skip
#else
    buffer[who].n == 0
#endif
}

active proctype memory() {
    end: do
    :: atomic { buffer[SENDER].n > 0 -> drain_one(SENDER) }
    :: atomic { buffer[RECEIVER].n > 0 -> drain_one(RECEIVER) }
    od
}

active proctype sender() {
    byte my_head = 0, known_tail = 0, wanted, piece;
    bool rang;
    do
    :: my_head < N_TOTAL ->
        // A send of one or two cells: as much room is waited for.
        if
        :: wanted = 1
        :: my_head + 2 <= N_TOTAL -> wanted = 2
        fi;
        do
        :: N_RING - (my_head - known_tail) >= wanted -> break
        :: else ->
            known_tail = tail;
            if
            :: N_RING - (my_head - known_tail) >= wanted -> break
            :: else ->
#ifndef LATE
                take_one(space_bell);                             // quiet_bell()
#endif
                atomic { buffer[SENDER].n == 0; space_wanted = wanted; sender_waits = true };  // ask_for_bell(), locked
                known_tail = tail;                                // look once more
#ifdef LATE
                take_one(space_bell);
#endif
                if
                :: N_RING - (my_head - known_tail) >= wanted -> sender_waits = false; break
                :: else -> space_bell > 0                         // poll()
                fi
            fi
        od;
        piece = 0;
#ifdef EARLY
        put(SENDER, INDEX, 0, my_head + wanted);
#endif
        do
        :: piece < wanted -> put(SENDER, CELL, (my_head + piece) % N_RING, my_head + piece); piece++
        :: else -> break
        od;
        my_head = my_head + wanted;
#ifndef EARLY
        put(SENDER, INDEX, 0, my_head);                           // publish()
#endif
        fence(SENDER);
        if
        :: receiver_waits ->
            atomic { rang = receiver_waits; receiver_waits = false };
            if
            :: rang -> ring(data_bell)
            :: else
            fi
        :: else
        fi
    :: else -> break
    od;
    buffer[SENDER].n == 0;
    ended = true;
    ring(data_bell)
}

active proctype receiver() {
    byte my_tail = 0, known_head = 0;
    bool seen_end = false, rang;
    do
    :: known_head > my_tail ->
        // One cell at a time, or all that are there.
        if
        :: assert(cell[my_tail % N_RING] == my_tail); my_tail++
        :: known_head - my_tail == 2 ->
            assert(cell[my_tail % N_RING] == my_tail);
            assert(cell[(my_tail + 1) % N_RING] == my_tail + 1);
            my_tail = my_tail + 2
        fi;
        put(RECEIVER, INDEX, 0, my_tail);                         // release()
        fence(RECEIVER);
        if
        :: sender_waits && N_RING - (known_head - my_tail) >= space_wanted ->
            atomic { rang = sender_waits; sender_waits = false };
            if
            :: rang -> ring(space_bell)
            :: else
            fi
        :: else
        fi
    :: else ->
        seen_end = ended;
        known_head = head;
        if
        :: known_head > my_tail
        :: known_head == my_tail && seen_end -> break
        :: else ->
            take_one(data_bell);                                  // quiet_bell()
            atomic { buffer[RECEIVER].n == 0; receiver_waits = true };  // ask_for_bell(), locked
            seen_end = ended;
            known_head = head;                                    // look once more
            if
            :: known_head > my_tail || seen_end -> receiver_waits = false
            :: else -> data_bell > 0                              // poll()
            fi
        fi
    od;
    assert(my_tail == N_TOTAL);
    assert(!line_was_full)
}
