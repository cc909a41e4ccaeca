# SPDX-License-Identifier: Apache-2.0
"""Receive path against the reference of frames.py: what is delivered, what is answered, and every counter."""

from __future__ import annotations

import random
from collections import Counter

import cocotb
import frames as f
from receive_bench import Bench, Record

BOTH = (False, True)


def expect(items: list, record: Record, counts: Counter[str], cut_through: bool, promiscuous: bool = False) -> None:
    card = f.Card(promiscuous)
    outcomes = [card.judge(*(item if isinstance(item, tuple) else (item,))) for item in items]
    payloads = [
        (o, s)
        for o, s in zip(outcomes, record.sent, strict=True)
        if o.verdict == "accepted" or (cut_through and o.admitted)
    ]
    assert len(record.payloads) == len(payloads), f"{len(record.payloads)} payloads, {len(payloads)} expected"
    for i, (got, (want, sent)) in enumerate(zip(record.payloads, payloads, strict=True)):
        assert got.data == want.payload, f"payload {i}: {got.data.hex()} is not {want.payload.hex()}"
        assert got.bad == (want.verdict != "accepted"), f"payload {i}: bad {got.bad}, verdict {want.verdict}"
        assert got.side == want.side, f"payload {i}: {got.side} is not {want.side}"
        assert got.stamp == sent.first, f"payload {i}: stamp {got.stamp}, first beat at {sent.first}"
    replies = [o.reply for o in outcomes if o.reply]
    assert len(record.replies) == len(replies), f"{len(record.replies)} replies, {len(replies)} expected"
    for i, (got, want) in enumerate(zip(record.replies, replies, strict=True)):
        assert got[0] == want, f"reply {i}: {got[0].hex()} is not {want.hex()}"
    expected = Counter(o.verdict for o in outcomes)
    expected["arp_answered"] = sum(o.verdict == "arp" and o.reply is not None for o in outcomes)
    expected["echo_answered"] = sum(o.verdict == "icmp" and o.reply is not None for o in outcomes)
    assert counts == +expected, f"{counts} is not {+expected}"


async def check(dut, items: list, seed: int = 1, promiscuous: bool = False, **how) -> list[Record]:
    records = []
    for cut_through in BOTH:
        bench = Bench(dut, seed)
        await bench.start(cut_through, promiscuous)
        record = await bench.play(items, **how)
        expect(items, record, bench.counts(), cut_through, promiscuous)
        records.append(record)
    return records


def data(rng: random.Random, n_bytes: int) -> bytes:
    return rng.randbytes(n_bytes)


@cocotb.test()
async def alignments(dut):
    """Every header length with every payload length up to three words: all ends in a beat, padded and not."""
    rng = random.Random(2)
    items = []
    for n_options in range(0, 44, 4):
        for vlan in (None, 0x2064):
            for n_bytes in (*range(0, 18), 100):
                items.append(f.udp_frame(data(rng, n_bytes), vlan, rng.randbytes(n_options), pad=bool(n_bytes % 2)))
    await check(dut, items)


@cocotb.test()
async def gaps_and_stalls(dut):
    rng = random.Random(3)
    items = [
        f.udp_frame(
            data(rng, rng.randrange(0, 300)),
            rng.choice((None, 5)),
            rng.randbytes(4 * rng.randrange(3)),
            dst_port=rng.choice(list(f.PORTS.values())),
            src_port=rng.randrange(65536),
            pad=rng.random() < 0.5,
        )
        for _ in range(60)
    ]
    stall = random.Random(4)
    await check(dut, items, gap=0.4, ready=lambda _: stall.random() < 0.6)
    await check(dut, items, ready=lambda _: stall.random() < 0.7)


@cocotb.test()
async def each_drop_is_one_count(dut):
    rng = random.Random(5)
    body = data(rng, 50)
    good = f.udp_frame(body)
    tcp = f.ethernet(f.ipv4(body, protocol=6))
    items = [
        good,
        (good, True),
        f.udp_frame(body, dst=0x02_AE_00_12_34_57),
        f.udp_frame(body, dst=f.BROADCAST),
        tcp,
        f.udp_frame(body, dst=0x01_00_5E_00_00_01),
        f.ethernet(body, 0x86DD),
        f.ethernet(body, 0x88A8),
        f.ethernet(f.ipv4(f.udp(body), version=6)),
        f.ethernet(f.ipv4(f.udp(body), ihl=4)),
        f.ethernet(f.ipv4(f.udp(body), ihl=0), vlan=1),
        f.ethernet(f.ipv4(f.udp(body), checksum_xor=1)),
        f.ethernet(f.ipv4(f.udp(body), checksum_xor=0x8000)),
        f.ethernet(f.ipv4(f.udp(body), flags=0x2000)),
        f.ethernet(f.ipv4(f.udp(body), flags=0x0001)),
        f.ethernet(f.ipv4(f.udp(body), flags=0x1000)),
        f.ethernet(f.ipv4(f.udp(body), flags=0x0000)),
        f.udp_frame(body, dst_port=50003),
        f.udp_frame(body, dst_port=0),
        f.ethernet(f.ipv4(f.udp(body, checksum=0))),
        f.ethernet(f.ipv4(f.udp(body, checksum_xor=0x0100))),
        f.ethernet(f.ipv4(f.udp(body, checksum=0xFFFF))),
        f.ethernet(f.ipv4(f.udp(body, length=7))),
        f.ethernet(f.ipv4(f.udp(body, length=0))),
        f.ethernet(f.ipv4(f.udp(body, length=59))),
        f.ethernet(f.ipv4(f.udp(body, length=30))),
        f.ethernet(f.ipv4(f.udp(body), total=19)),
        f.ethernet(f.ipv4(f.udp(body), total=27)),
        f.ethernet(f.ipv4(f.udp(body), options=bytes(40), total=10)),
        # Nothing but ones or zeros in the sum.
        f.udp_frame(b"\xff" * 64),
        f.udp_frame(b"\0" * 64),
        # Two faults: the first one in the order of the checks counts.
        f.ethernet(f.ipv4(f.udp(body, dst_port=70), checksum_xor=0x0001)),
        f.ethernet(f.ipv4(f.udp(body, checksum_xor=1), flags=0x2000)),
        (f.udp_frame(body, dst_port=70), True),
    ]
    # A checksum that comes out as 0 is sent as 0xffff.
    zero = next(n for n in range(65536) if f.udp(n.to_bytes(2, "big") + body)[6:8] == b"\xff\xff")
    items += [f.udp_frame(zero.to_bytes(2, "big") + body), good]
    await check(dut, items)
    await check(dut, items, promiscuous=True)
    await check(dut, items, gap=0.5, seed=6)


@cocotb.test()
async def cut_anywhere(dut):
    """A frame may end after any number of bytes; a whole frame follows it without a gap."""
    rng = random.Random(7)
    items = []
    for vlan, options in ((None, b""), (9, b""), (None, bytes(4)), (9, bytes(8))):
        whole = f.udp_frame(data(rng, 45), vlan, options)
        for n_bytes in range(1, len(whole)):
            items.append(whole[:n_bytes])
            if n_bytes % 3 == 0:
                items.append(whole)
    await check(dut, items)
    await check(dut, items[::3], gap=0.3)


@cocotb.test()
async def wrong_bits(dut):
    """One bit flipped anywhere in the frame."""
    rng = random.Random(8)
    items = []
    for _ in range(150):
        frame = bytearray(f.udp_frame(data(rng, rng.randrange(1, 60)), rng.choice((None, 3)), pad=False))
        bit = rng.randrange(8 * len(frame))
        frame[bit // 8] ^= 1 << bit % 8
        items.append(bytes(frame))
    await check(dut, items)


@cocotb.test()
async def answers(dut):
    rng = random.Random(9)
    items = []
    for vlan in (None, 0x0FFF):
        for n_bytes in (0, 1, 5, 10, 14, 15, 18, 40, 56, 200, 1400):
            items.append(
                f.echo_request(data(rng, n_bytes), vlan, pad=n_bytes != 5, ttl=rng.choice((1, 63, 64, 65, 255)))
            )
        items += [
            f.arp_request(vlan=vlan),
            f.arp_request(vlan=vlan, pad=False),
            f.arp_request(dst=f.OWN_MAC, vlan=vlan),
            f.arp_request(f.OWN_IP + 1, vlan=vlan),
            f.arp_request(f.OWN_IP + 0x10000, vlan=vlan),
            f.arp_request(vlan=vlan, op=2),
            f.arp_request(vlan=vlan, dst=0x02_00_00_00_00_01),
            f.arp_request(vlan=vlan).ljust(120, b"\x77"),
            f.arp_request(vlan=vlan, pad=False)[:-1],
            f.echo_request(b"reply", vlan, kind=0),
            f.echo_request(b"other", vlan, dst_ip=f.OWN_IP ^ 1),
            f.echo_request(b"other", vlan, dst_ip=f.OWN_IP ^ 0x10000),
            f.echo_request(b"all", vlan, dst=f.BROADCAST),
            f.echo_request(b"options", vlan, options=bytes(4)),
            f.echo_request(b"part", vlan, flags=0x2000),
            f.echo_request(b"sum", vlan, checksum_xor=4),
            f.echo_request(b"x" * 80, vlan)[:-1],
            f.echo_request(b"short", vlan, total=27),
            (f.echo_request(b"fcs", vlan), True),
            (f.arp_request(vlan=vlan), True),
            f.udp_frame(data(rng, 33), vlan),
        ]
    # Checksums at the edges of the one's complement: 0xf7ff + 0x0800 is the other zero.
    base = f.echo_request(bytes(20))
    for checksum in (0xF7FF, 0xF800, 0xFFFF, 0x0000, 0xF7FE):
        items.append(base[:36] + checksum.to_bytes(2, "big") + base[38:])
    records = await check(dut, items, between=150)
    for frame, first, last, n_beats in records[0].replies:
        assert last - first + 1 == n_beats == -(-len(frame) // 8), "a gap within a reply"
    stall = random.Random(10)
    await check(dut, items[::2], between=300, tx_ready=lambda _: stall.random() < 0.5)


@cocotb.test()
async def replies_overflow_whole(dut):
    """While the sender stalls, requests that fit are answered later, others are counted, and payloads still pass."""
    rng = random.Random(11)
    items = [f.echo_request(data(rng, 400)) for _ in range(12)] + [f.udp_frame(data(rng, 80)), f.arp_request()]
    bench = Bench(dut)
    await bench.start(False)
    n_cycles = sum(-(-len(item) // 8) for item in items) + 50
    record = await bench.play(items, tx_ready=lambda cycle: cycle > n_cycles)
    wanted = [f.Card().judge(item).reply for item in items]
    counts = bench.counts()
    sent = [reply[0] for reply in record.replies]
    places = 256  # words of REPLY_LOG2; registers hold a few more
    assert len(record.payloads) == 1
    assert counts["reply_overflow"] + len(sent) == 13
    assert sent[:4] == wanted[:4]
    assert sent[-1] == wanted[-1]
    assert places // 56 <= len(sent) - 1 <= places // 56 + 1
    assert counts["arp_answered"] + counts["echo_answered"] == len(sent)


@cocotb.test()
async def overflow_drops_whole_frames(dut):
    """The reader stalls until the buffer is full: counts are exact, and the frames kept come out whole."""
    rng = random.Random(12)
    for cut_through, n_bytes, n_frames in ((False, 1400, 14), (True, 1400, 14), (False, 64, 262), (True, 5, 520)):
        bench = Bench(dut)
        await bench.start(cut_through)
        items = [f.udp_frame(data(rng, n_bytes)) for _ in range(n_frames)]
        n_cycles = sum(-(-len(item) // 8) for item in items) + 20
        record = await bench.play(items, ready=lambda cycle, end=n_cycles: cycle > end)
        # Two words and two sidebands have left the RAMs for the registers after them. One word stays free; in
        # cut-through, admitted by the length of the UDP header in whole words, up to two. One frame's place stays free.
        used_words = used_frames = kept = 0
        for _ in items:
            free = 2048 - max(0, used_words - 2)
            fits = (n_bytes + 8) // 8 < free if cut_through else -(-n_bytes // 8) < free
            if fits and 512 - max(0, used_frames - 2) >= 2:
                used_words, used_frames, kept = used_words + -(-n_bytes // 8), used_frames + 1, kept + 1
        counts = bench.counts()
        assert kept < n_frames, "the buffer was never full"
        assert counts == {"accepted": kept, "overflow": n_frames - kept}, f"{counts}, {kept} fit"
        assert [p.data for p in record.payloads] == [f.Card().judge(item).payload for item in items[:kept]]
        again = await bench.play(items[:2])
        assert [p.data for p in again.payloads] == [f.Card().judge(item).payload for item in items[:2]]


@cocotb.test()
async def overflow_in_the_middle(dut):
    """With a slow reader, every frame is either whole or counted, at any moment of an overflow."""
    rng = random.Random(13)
    items = [f.udp_frame(data(rng, rng.randrange(8, 1400)), dst_port=50000 + i % 3) for i in range(80)]
    payloads = [f.Card().judge(item).payload for item in items]
    for cut_through in BOTH:
        stall = random.Random(14)
        bench = Bench(dut)
        await bench.start(cut_through)
        record = await bench.play(items, ready=lambda _, stall=stall: stall.random() < 0.55)
        counts = bench.counts()
        assert counts["overflow"] > 3
        assert counts["accepted"] + counts["overflow"] == len(items), counts
        assert len(record.payloads) == counts["accepted"]
        rest = iter(payloads)
        assert all(any(p.data == want for want in rest) for p in record.payloads), "a payload that was not sent"
        assert not any(p.bad for p in record.payloads)


@cocotb.test()
async def line_rate(dut):
    """Frames come without a free cycle: none is lost, and the last payload leaves directly after its frame."""
    rng = random.Random(15)
    for cut_through in BOTH:
        for size in (60, 64, 65, 256, 1024, 1514, 9000):
            bench = Bench(dut)
            await bench.start(cut_through)
            n_frames = max(4, min(40, 4000 // size))
            items = [f.udp_frame(data(rng, size - 42)) for _ in range(n_frames)]
            record = await bench.play(items)
            expect(items, record, bench.counts(), cut_through)
            n_beats = sum(s.n_beats for s in record.sent)
            n_cycles = record.payloads[-1].last - record.payloads[0].last + record.sent[0].n_beats
            assert record.sent[-1].last + 1 == n_beats
            share = n_beats / n_cycles
            dut._log.info(
                f"line rate: {'cut-through' if cut_through else 'store'} {size} B: {n_beats / n_frames:.1f} beats, "
                f"{n_cycles / n_frames:.2f} cycles a frame, share {share:.4f}"
            )
            assert share >= 0.99


@cocotb.test()
async def latency(dut):
    rng = random.Random(16)
    for cut_through in BOTH:
        for vlan in (None, 7):
            for options, size in ((b"", 60), (b"", 64), (b"", 256), (b"", 1024), (bytes(20), 1024), (bytes(40), 1024)):
                n_bytes = size - 42 - len(options) - (4 if vlan else 0)
                bench = Bench(dut)
                await bench.start(cut_through)
                record = await bench.play([f.udp_frame(data(rng, n_bytes), vlan, options)])
                first, last = record.sent[0].first, record.sent[0].last
                got = record.payloads[0]
                dut._log.info(
                    f"latency: {'cut-through' if cut_through else 'store'} {size} B, tag {vlan is not None}, options "
                    f"{len(options)}: first beat in -> first of payload {got.first - first}, last {got.last - first}; "
                    f"last beat in -> last payload beat {got.last - last}"
                )
                if cut_through and not options:
                    assert got.first - first <= 8
                    assert got.last - last <= 5
        bench = Bench(dut)
        await bench.start(cut_through)
        record = await bench.play([f.udp_frame(data(rng, 4))])
        dut._log.info(f"latency: {'cut-through' if cut_through else 'store'} one word: {record.payloads[0].first}")
        assert not cut_through or record.payloads[0].first <= 12
