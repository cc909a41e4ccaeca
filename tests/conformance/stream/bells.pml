// SPDX-License-Identifier: Apache-2.0
// One control socket, two threads of a process that sleep by it: one waits for data, one for space (engine/stream,
// BellLine). The peer rings once for each wish that it finds. Whoever takes a byte passes it on where the other listens.
//
//   spin -a bells.pml && cc -DSAFETY -o pan pan.c && ./pan      each wish that was answered wakes who had it
//   spin -DDEAF ...      who takes a byte keeps it: a wake-up is lost, spin finds how
//
// Each thread wants N_ROUNDS answers. Any standstill before is an invalid end state.
#define N_ROUNDS 3

byte line;                      // bytes on the socket
bool wish[2], listens[2], event[2], told[2];
byte n_answered[2];

// The peer finds what was wished for, and answers: what each thread then looks for is there.
active proctype peer() {
    end: do
    :: atomic { wish[0] -> wish[0] = false; n_answered[0]++ }; line++
    :: atomic { wish[1] -> wish[1] = false; n_answered[1]++ }; line++
    od
}

inline quiet(me) {
    if
    :: atomic { line > 0 -> line-- };
#ifndef DEAF
        if
        :: listens[1 - me] -> event[1 - me] = true; told[1 - me] = true
        :: else
        fi
#endif
    :: else
    fi;
    if
    :: told[me] -> told[me] = false; event[me] = false
    :: else
    fi
}

proctype waiter(byte me) {
    byte round;
    for (round : 1 .. N_ROUNDS) {
        do
        :: quiet(me);
            listens[me] = true;
            if
            :: n_answered[me] < round -> wish[me] = true
            :: else
            fi;
            if                                        // look once more
            :: n_answered[me] >= round -> break
            :: else
            fi;
            (line > 0 || event[me])                   // poll()
        od;
        listens[me] = false
    }
}

init { atomic { run waiter(0); run waiter(1) } }
