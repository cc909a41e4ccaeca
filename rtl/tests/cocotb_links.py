# SPDX-License-Identifier: Apache-2.0
"""8B/10B, the frames of the TDM sender and the router against the Python model."""

from __future__ import annotations

import random
from itertools import chain

import cocotb
import links_model as model
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

SEED = 20
CHARACTERS = [(byte, False) for byte in range(256)] + [(byte, True) for byte in model.CONTROLS]


async def start(dut) -> None:
    Clock(dut.clk, 6400, "ps").start()
    for name in (
        "e_data",
        "e_is_k",
        "d_code",
        "t_clock",
        "t_tdata",
        "t_tkeep",
        "t_tvalid",
        "t_tlast",
        "r_tdata",
        "r_tkeep",
        "r_tuser",
        "r_tlast",
        "r_tvalid",
        "m_tready",
    ):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    for _ in range(4):
        await FallingEdge(dut.clk)


def bits_of(word: int) -> str:
    """A code word in the order of sending: bit 19 first."""
    return f"{word:020b}"


@cocotb.test()
async def encoder_sends_what_the_standard_says(dut) -> None:
    await start(dut)
    rng = random.Random(SEED)
    sent = [rng.choice(CHARACTERS) for _ in range(6000)] + CHARACTERS * 2
    plus, expected = False, ""
    for byte, is_k in sent:
        bits, plus = model.encoded(byte, is_k, plus)
        expected += bits
    assert "000000" not in expected and "111111" not in expected
    got = ""
    dut.e_data.value, dut.e_is_k.value = sent[0][0] | sent[1][0] << 8, sent[0][1] | sent[1][1] << 1
    # The first word enters with the edge that ends the reset's last cycle; its code is there after two edges.
    for at in range(0, len(sent) + 2, 2):
        if at < len(sent):
            (first, k_first), (second, k_second) = sent[at], sent[at + 1]
            dut.e_data.value, dut.e_is_k.value = first | second << 8, k_first | k_second << 1
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        if at >= 2:
            got += bits_of(int(dut.e_code.value))
    assert got == expected[: len(got)] and len(got) == len(expected)


@cocotb.test()
async def decoder_knows_each_code_after_each_disparity(dut) -> None:
    """All 1024 codes after a disparity of -1 and of +1: the byte, or a code error, or a disparity error."""
    await start(dut)
    after = {plus: model.meanings(plus) for plus in (False, True)}
    rng = random.Random(SEED)
    heavy = next(bits for bits in after[False] if model.disparity(bits) > 0)
    light = model.inverted(heavy)
    steps = []  # the first byte sets the disparity, the second is the one that is looked at
    for code in range(1024):
        for plus in (False, True):
            steps.append((heavy if plus else light, f"{code:010b}", plus))
    rng.shuffle(steps)
    seen = []
    for step in [*steps, *[steps[0]] * 4]:
        dut.d_code.value = int(step[0] + step[1], 2)
        dut.rst.value = 0
        await FallingEdge(dut.clk)
        seen.append(
            (
                int(dut.d_data.value) >> 8,
                int(dut.d_is_k.value) >> 1,
                int(dut.d_code_error.value) >> 1,
                int(dut.d_disparity_error.value) >> 1,
            )
        )
    n_good = n_bad = 0
    for (_, code, plus), (byte, is_k, code_error, disparity_error) in zip(steps, seen[3:], strict=False):
        here, there = after[plus].get(code), after[not plus].get(code)
        assert code_error == (here is None and there is None), f"{code} after {plus}: code error {code_error}"
        assert disparity_error == (here is None and there is not None), f"{code} after {plus}"
        if here or there:
            assert (byte, bool(is_k)) == (here or there), f"{code} after {plus}: {byte:#x} {is_k}"
        n_good += here is not None
        n_bad += here is None and there is None
    assert n_good == 2 * len(CHARACTERS) and n_bad > 1000


@cocotb.test()
async def tdm_frames_are_as_the_header_says(dut) -> None:
    """The sender's bits of 28 frames, idle, partly filled and full slots, equal those of the model. Eight packets of up
    to three slots each, of which the second channel's begin two frames later, fit into them."""
    await start(dut)
    rng = random.Random(SEED)
    n_frame = 7 + 2 * 19
    packets = {c: [[rng.getrandbits(64) for _ in range(rng.randint(1, 9))] for _ in range(8)] for c in (0, 1)}
    last_bytes = {c: [rng.randint(1, 8) for _ in range(8)] for c in (0, 1)}
    queue = {
        c: [
            (word, w == len(p) - 1, last_bytes[c][i] if w == len(p) - 1 else 8)
            for i, p in enumerate(packets[c])
            for w, word in enumerate(p)
        ]
        for c in (0, 1)
    }
    offers = {c: list(queue[c]) for c in (0, 1)}
    bits, starts = "", []
    dut.rst.value = 0
    for cycle in range(29 * n_frame):
        dut.t_clock.value = 1000 + cycle
        word = keep = valid = last = 0
        for c in (0, 1):
            # Channel 1 begins later, so that its first slots are idle.
            if offers[c] and (c == 0 or cycle > 2 * n_frame):
                data, is_last, n_bytes = offers[c][0]
                word |= data << 64 * c
                keep |= ((1 << n_bytes) - 1) << 8 * c
                valid |= 1 << c
                last |= is_last << c
        dut.t_tdata.value, dut.t_tkeep.value, dut.t_tvalid.value, dut.t_tlast.value = word, keep, valid, last
        await RisingEdge(dut.clk)
        if int(dut.t_frame_start.value):
            starts.append((len(bits), 1000 + cycle))
        for c in (0, 1):
            if int(dut.t_tready.value) & valid & 1 << c:
                offers[c].pop(0)
        bits += f"{int(dut.t_raw.value):020b}"[::-1]
        await FallingEdge(dut.clk)
    assert len(starts) >= 28
    number = {0: 0, 1: 0}
    inside = {0: False, 1: False}
    plus = None
    for i, (at, clock) in enumerate(starts[:28]):
        slots = []
        for c in (0, 1):
            words, ends, n_bytes = [], False, 8
            while queue[c] and len(words) < 4 and not ends and (c == 0 or i >= 2):
                data, ends, n_bytes = queue[c].pop(0)
                words.append(data)
            begins = bool(words) and not inside[c]
            slots.append(model.slot(words, n_bytes, begins, ends and bool(words), number[c], c + 1))
            if words:
                number[c] += 1
                inside[c] = not ends
        characters = model.frame(clock, slots)
        got = bits[at + 4 * 20 : at + 4 * 20 + 10 * len(characters)]
        if plus is None:
            plus = got[:10] == model.encoded(0xBC, True, True)[0]
        expected = ""
        for byte, is_k in characters:
            code, plus = model.encoded(byte, is_k, plus)
            expected += code
        assert got == expected, f"frame {i} differs at bit {next(b for b in range(len(got)) if got[b] != expected[b])}"
    assert not list(chain(*offers.values())), "the packets did not fit into the frames of this test"


async def route(
    dut, n_cycles: int, share: list[float], ready: float, lengths: tuple[int, int]
) -> list[tuple[int, list]]:
    """Random packets on four links; each link's word tells link, packet and place. Returns the packets that came."""
    await start(dut)
    rng = random.Random(SEED)
    sent = [[[]] for _ in range(4)]
    left = [0] * 4
    offered: list[tuple[int, int, int, int] | None] = [None] * 4
    packets, part, n_waits, held = [], [], 0, None
    owner = None
    dut.rst.value = 0
    for cycle in range(n_cycles):
        for link in range(4):
            if offered[link] is None and rng.random() < share[link]:
                if left[link] == 0:
                    left[link] = rng.randint(*lengths)
                is_last = left[link] == 1
                keep = (1 << rng.randint(1, 8)) - 1 if is_last else 255
                offered[link] = (link << 60 | rng.getrandbits(60), keep, rng.randint(0, 1), int(is_last))
        now = [word or (0, 0, 0, 0) for word in offered]
        dut.r_tdata.value = sum(word[0] << 64 * link for link, word in enumerate(now))
        dut.r_tkeep.value = sum(word[1] << 8 * link for link, word in enumerate(now))
        dut.r_tuser.value = sum(word[2] << link for link, word in enumerate(now))
        dut.r_tlast.value = sum(word[3] << link for link, word in enumerate(now))
        dut.r_tvalid.value = sum((word is not None) << link for link, word in enumerate(offered))
        is_ready = rng.random() < ready
        dut.m_tready.value = int(is_ready)
        await RisingEdge(dut.clk)
        taken = int(dut.r_tready.value)
        for link in range(4):
            if offered[link] is not None and taken >> link & 1:
                sent[link][-1].append(offered[link])
                left[link] -= 1
                if offered[link][3]:
                    sent[link].append([])
                offered[link] = None
        if int(dut.m_tvalid.value):
            word = (int(dut.m_tdata.value), int(dut.m_tkeep.value), int(dut.m_tuser.value), int(dut.m_tlast.value))
            link = int(dut.m_link.value)
            assert held is None or held == (word, link), "changed while stalled"
            held = None if is_ready else (word, link)
            if is_ready:
                assert owner in (None, link), "a packet was interrupted"
                owner = None if word[3] else link
                part.append(word)
                if word[3]:
                    assert part == sent[link].pop(0), f"link {link}: another packet than was sent"
                    packets.append((link, part))
                    part = []
        else:
            assert held is None, "a word was taken back"
            n_waits += cycle > 20 and is_ready
        await FallingEdge(dut.clk)
    return [*packets, (-1, [n_waits])]


@cocotb.test()
async def router_keeps_packets_whole_under_stalls(dut) -> None:
    packets = await route(dut, 6000, [0.2, 0.5, 0.9, 1.0], 0.7, (1, 12))
    assert len(packets) > 400 and {link for link, _ in packets[:-1]} == {0, 1, 2, 3}


@cocotb.test()
async def router_is_fair_and_has_no_gaps(dut) -> None:
    """Four full links: they take turns, one packet each, and the output carries a word in each cycle."""
    packets = await route(dut, 3000, [1.0] * 4, 1.0, (1, 6))
    turns = [link for link, _ in packets[:-1]]
    # A word of each link must have had the time to enter, so the first few packets are not looked at.
    assert all(turns[i + 1] == (turns[i] + 1) % 4 for i in range(8, len(turns) - 1)), turns[:40]
    assert packets[-1][1][0] == 0, f"{packets[-1][1][0]} cycles without a word"


@cocotb.test()
async def router_has_no_gaps_on_one_link(dut) -> None:
    packets = await route(dut, 1000, [0.0, 0.0, 1.0, 0.0], 1.0, (1, 3))
    assert packets[-1][1][0] == 0 and len(packets) > 400
