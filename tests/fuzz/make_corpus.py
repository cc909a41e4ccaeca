# SPDX-License-Identifier: Apache-2.0
"""Writes the fuzzers' seeds, corpus/NAME, from the test vectors and a few packets that those do not show.

Run it after a change of format: python3 tests/fuzz/make_corpus.py
"""

import struct
from pathlib import Path

HERE = Path(__file__).parent
VECTORS = HERE.parent / "vectors"


def vector_bytes(path: Path) -> bytes:
    lines = path.read_text().splitlines()
    return bytes.fromhex(" ".join(line for line in lines if not line.startswith(("#", ">"))))


def mep(payload: bytes) -> bytes:
    """A packet of RICH board 0 with one event."""
    fragment = struct.pack("<HBBI", 8 + len(payload), 5, 0, 0x12345) + payload
    return struct.pack("<IHBB", 5 | 0x1C << 24, 8 + len(fragment), 1, 0) + fragment


def tel62_with_error_block() -> bytes:
    """Two FPGAs; the first has no frame and three words of errors, the second one hit."""
    words = [0x0103, 0x0100FF00, 3 << 16, 7, 8, 0x0001FF01, 0x2345 | 2 << 16, 0x41234567]
    return struct.pack("<8I", *words)


def mtp_with_timestamp_word() -> bytes:
    return struct.pack("<4I", 0x1C000700, 0x00010010, 0x700, 0x40010203)


def clb(n_hits: int) -> bytes:
    hits = b"".join(struct.pack(">BIB", i % 31, 1000 * i, 20) for i in range(n_hits))
    return struct.pack(">4s6I", b"TTDC", 7, 0, 26690, 12_500_000, 0x30BEAF00, 0x80000000) + hits


def camera_without_payload() -> bytes:
    return struct.pack("<4sBBHIIIIQHBBBBH24x", b"CAM1", 1, 0, 3, 7, 11, 12, 0, 13, 0, 0, 0, 0, 0, 0)


def mfp_with_one_empty_fragment() -> bytes:
    """The fuzzer sets the checksum."""
    return struct.pack("<4sBBBBHHIIIQqQ", b"MFP1", 1, 0, 0, 0, 3, 1, 7, 56, 0, 600, 0, 0) + bytes(8)


def mfp_long() -> bytes:
    """Two fragments, the first empty, with sizes of 32 bits."""
    return struct.pack("<4sBBBBHHIIIQqQII", b"MFP1", 1, 2, 3, 0, 3, 2, 7, 72, 0, 600, 0, 0, 0, 8) + bytes(16)


def zstd_frame(content: bytes) -> bytes:
    """One raw block, 256 to 65791 bytes of content."""
    return (
        struct.pack("<IBH", 0xFD2FB528, 0x60, len(content) - 256)
        + ((len(content) << 3) | 1).to_bytes(3, "little")
        + content
    )


def camera_record(codec: int, shuffle: int, difference: int) -> bytes:
    """Four boards of twelve with 3 samples of 4 pixels in 2 gains; the fuzzer sets the checksum."""
    waveforms = bytes(range(48))
    header = struct.pack("<4sBBHIIIIQHBBBBH", b"CAM1", 1, 0, 1, 7, 42, 41, 0, 123, 3, 4, 2, 0, 0, 48).ljust(64, b"\0")
    body = 4 * header + 4 * waveforms
    stored = zstd_frame(body) if codec == 1 else body
    fields = (1, codec, shuffle, difference, 72 + len(stored), 7, 42, 12, 4, 123, 5, 6, len(body), len(stored), 0, 0)
    return struct.pack("<4sBBBBIIIHHQqqIIII", b"CEV1", *fields) + struct.pack("<Q", 0b110011) + stored


def camera_group(n_boards: int, present: int, slot_bytes: int) -> bytes:
    """A group from board 6 on; `present` has one bit for each of its boards."""
    fields = (1, 0, 6, n_boards, present.bit_count(), slot_bytes, 7, 42, 123, 5, 6)
    bits = present.to_bytes((n_boards + 511) // 512 * 64, "little")
    return struct.pack("<4sBBHHHIIIQqq16x", b"CGR1", *fields) + bits + bytes(n_boards * slot_bytes)


def rich_frame(*n_hits: int) -> bytes:
    """The packet's stamp, then a record of each number of hits; the first's stamps are not known."""
    records = b"".join(
        struct.pack("<IBBHII", 100 + i, 5, i, n, 1000 * i, 2000 * i) + struct.pack(f"<{2 * n}H", *range(2 * n))
        for i, n in enumerate(n_hits)
    )
    return struct.pack("<q", 1 << 60) + records


def l0_slice(*n_hits: int, first_slice: int = 50, run: int = 7) -> bytes:
    """A slice of DOMs that count from the first id of a simulated line: stamps, then the message, complete frames."""
    origin = struct.pack("<5I", 1, run, 0, first_slice // 10, first_slice % 10 * 6_250_000)
    frames = b""
    for dom, n in enumerate(n_hits):
        status = struct.pack("<7I", 0x30000001 + dom, 1, 1 << 31, 1 << 31, 0, 0, n)
        hits = b"".join(struct.pack("<B", i % 31) + struct.pack(">IB", 1000 * i, 26) for i in range(n))
        frames += struct.pack("<2I", 56 + len(hits), 101) + origin + status + hits
    return struct.pack("<qqIIH", 5, 9, 34 + len(frames), 1002, 1) + origin + struct.pack("<I", len(n_hits)) + frames


def camera_chunk(done: int, content: bytes) -> bytes:
    """A chunk of the camera's table, after a mask of the filters it has passed (bit 2: zstd) and its length."""
    return struct.pack("<BH", done, len(content)) + (zstd_frame(content) if done & 4 else content)


def fits_block(*cards: str) -> bytes:
    text = "".join(f"{card:<80}" for card in (*cards, "END"))
    return text.encode().ljust(-(-len(text) // 2880) * 2880)


def fits_image(name: str, bits: int, shape: tuple[int, ...], data: bytes, *more: str) -> bytes:
    axes = [f"NAXIS{i}  = {n}" for i, n in enumerate(reversed(shape), 1)]
    head = ["XTENSION= 'IMAGE   '", f"BITPIX  = {bits}", f"NAXIS   = {len(shape)}", *axes, "PCOUNT  = 0", "GCOUNT  = 1",
            f"EXTNAME = '{name}'", *more]  # fmt: skip
    return fits_block(*head) + data.ljust(-(-len(data) // 2880) * 2880, b"\0")


def fits_file(*parts: bytes) -> bytes:
    return fits_block("SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 0", "EXTEND  = T") + b"".join(parts)


def camera_fits() -> bytes:
    """Two gains, two pixels, four cells; whole numbers with a scale; a table, which is no image."""
    baseline = struct.pack(">16f", *range(400, 416))
    table = fits_block(
        "XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 4", "NAXIS2  = 3", "PCOUNT  = 8",
        "GCOUNT  = 1", "TFIELDS = 1", "TFORM1  = 'J'", "EXTNAME = 'TIMES'",
    )  # fmt: skip
    return fits_file(
        fits_image("BASELINE_MEAN", -32, (2, 2, 4), baseline),
        table + bytes(2880),
        fits_image("scale", 16, (3,), struct.pack(">3h", -1, 0, 1), "BSCALE  = 0.5", "BZERO   = 10"),
    )


def daq_message(kind: int, version: int, rest: bytes) -> bytes:
    return struct.pack("<IIH5I", 30 + len(rest), kind, version, 29, 3246, 30, 1_513_144_803, 6_250_000) + rest


def daq_summary() -> bytes:
    """A summary of two DOMs, whose PMTs have all rates from 0 on."""
    frames = b"".join(
        struct.pack("<6I", 808 + dom, 7 | 6 << 16, 1 << 31, 1 << 31, 0, 0) + bytes(range(100 * dom, 100 * dom + 31))
        for dom in (0, 1)
    )
    return daq_message(2001, 6, struct.pack("<I", 2) + frames)


def daq_event() -> bytes:
    """One triggered hit, two around it."""
    hits = [struct.pack("<IB", 808 + i, 4 + i) + struct.pack(">IB", 500 + i, 26) for i in (0, 1)]
    rest = struct.pack("<QQII", 77, 16, 3, 1) + hits[0] + struct.pack("<QI", 16, 2) + b"".join(hits)
    return daq_message(10001, 4, rest)


def published_record(run: int) -> bytes:
    """A record of kind mep: one u32, five f32, an array without values."""
    arrays = [(b"seven", 3, (), struct.pack("<I4x", 7)), (b"five", 9, (5,), struct.pack("<5f4x", *range(5))),
              (b"none", 2, (2, 0), b"")]  # fmt: skip
    entries, content = b"", b""
    for name, kind, shape, values in arrays:
        padded = shape + (0,) * (4 - len(shape))
        entries += struct.pack("<32sBB6x4IQ", name, kind, len(shape), *padded, 64 + 64 * len(arrays) + len(content))
        content += values
    length = 64 + len(entries) + len(content)
    return struct.pack("<8sHHHxxQIxxxxQq16x", b"ANELRECD", 1, 3, 3, 9, run, length, 0) + entries + content


def fabric_frames() -> bytes:
    """Each kind of a TCP connection's frames, in pieces of at most 256 bytes."""
    stream = b"".join(
        struct.pack("<BBBBIQQQ", kind, header, 0, 0, region, payload, offset, tag) + bytes(header + payload)
        for kind, header, region, payload, offset, tag in [
            (1, 12, 0, 300, 0, 0),
            (2, 0, 3, 40, 8, 77),
            (3, 0, 3, 0, 8, 40),
            (4, 0, 0, 40, 0, 0),
            (5, 0, 0, 0, 0, 0),
            (1, 0, 0, 0, 0, 0),
        ]
    )
    pieces = [stream[at : at + 249] for at in range(0, len(stream), 249)]
    return b"\0" + b"".join(b"\x1f" + piece for piece in pieces)


def fabric_piece(message: int, number: int, length: int) -> bytes:
    """A datagram of the UDP transport, of a message in two pieces."""
    head = struct.pack("<IBBHQQQIIIB3x", 0x55464E41, 1, 2, 1, 5, 9, message, 900, number, 500, 4)
    datagram = head + b"head" + bytes(length)
    return struct.pack("<H", len(datagram)) + datagram


def fabric_datagrams() -> bytes:
    """Two messages, their pieces mixed and one doubled."""
    piece = fabric_piece
    return b"\1" + piece(0, 0, 500) + piece(1, 1, 400) + piece(0, 1, 400) + piece(0, 1, 400) + piece(1, 0, 500)


def fabric_last_number() -> bytes:
    """A message is given up half, the other half comes with the last of all numbers, in the same slot."""
    return b"\1" + fabric_piece(63, 0, 500) + 60 * fabric_piece(0, 0, 500) + fabric_piece(2**64 - 1, 1, 400)


def stream_hello() -> bytes:
    """The hello of a stream over the fabric's TCP, and the word head."""
    hello = struct.pack("<QIIQQIIII16x", int.from_bytes(b"ANELFBRC", "little"), 1, 3, 65536, 99, 1, 40, 40, 0)
    return b"\0" + hello + struct.pack("<Q", 1000)


def stream_messages() -> bytes:
    """The ring holds this text again and again; its first word is a length, then steps: a byte, and how head rises."""
    return b"\1" + struct.pack("<Q", 21) + b"\x05\x20" * 8


def udp_frame(payload: bytes, tags: bytes = b"") -> bytes:
    """Ethernet, IPv4, UDP; the kernel would refuse the checksums, we do not look at them."""
    udp = struct.pack(">HHHH", 4000, 6000, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, 0x0A000001, 0x0A000002)
    return bytes(12) + tags + b"\x08\x00" + ip + udp


def pcap(*frames: bytes) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack("<IIII", i, 5, len(one), len(one)) + one for i, one in enumerate(frames))


def pcapng(*frames: bytes, time_high: int = 0) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        length = 12 + len(body)
        return struct.pack("<II", kind, length) + body + struct.pack("<I", length)

    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    interface = block(1, struct.pack("<HHI", 1, 0, 65535))
    packets = [
        block(6, struct.pack("<IIIII", 0, time_high, i, len(one), len(one)) + one.ljust(-(-len(one) // 4) * 4, b"\0"))
        for i, one in enumerate(frames)
    ]
    return section + interface + b"".join(packets)


def exchange_message(kind: int, n_entries: int) -> bytes:
    head = struct.pack("<4sBBHIIQIIHHI", b"EXC1", 2, kind, 2, 7, 6, 1000, 3, n_entries, 4, 0, 0)
    return head + b"".join(struct.pack("<QIHH", 1000 + i, 3, i, 1) for i in range(n_entries))


def station_acts(kind: int) -> bytes:
    """Node 1 among peers that are well-behaved at first: connected, live, and given packets (station_fuzz.cpp)."""
    connect = b"".join(bytes([4, peer, 1]) for peer in range(3))
    farm = bytes([9, 0, *[1, 1] * 3])
    assign = bytes([9, 1, 3, *(field for mep in range(4) for field in (mep, 1, mep % 2, mep // 2))])
    part = bytes([0, 1, 0, 1, 0, 0, 1, 1, 0, 2, 1, 2, 1]) + bytes([5, 0])
    return bytes([kind]) + connect + farm + bytes([7, 1]) + assign + bytes([7, 9, 6, 0, 1]) + part + bytes([7, 200] * 3)


def station_takes_over(kind: int) -> bytes:
    """Node 1 stands by; the manager's connection breaks, both nodes that are left follow, and time passes."""
    connect = b"".join(bytes([4, peer, 1]) for peer in range(3))
    farm, parted, step = bytes([9, 0, *[1, 1] * 3]), bytes([4, 0, 1]), bytes([7, 0xF0, 0, 0, 0x0C, 0])
    free, held = bytes([1, 1, 1, 0, 1]), bytes([0, 2, 1, 1, 1, 1])
    follow = b"".join(bytes([10, who, 2, 1, 0]) + free + held + bytes([5, 5]) for who in (0, 1))
    return bytes([kind]) + connect + farm + bytes([7, 1]) + parted + bytes([7, 1]) + follow + step * 8 + farm


def seeds() -> dict[str, bytes]:
    """File name under corpus/, and content."""
    found = {f"{path.name.split('_')[0]}/{path.stem}": vector_bytes(path) for path in VECTORS.glob("*.hex")}
    found["mep/tel62_error_block"] = mep(tel62_with_error_block())
    found["mep/empty_payload"] = mep(b"")
    found["mtp/timestamp_word"] = mtp_with_timestamp_word()
    found["camera/no_payload"] = camera_without_payload()
    found["camera_record/stored"] = camera_record(0, 0, 0)
    found["camera_record/byte_difference"] = camera_record(1, 1, 1)
    found["camera_record/bit"] = camera_record(1, 2, 0)
    samples = struct.pack("<160H", *range(400, 560))
    for name, done in {"stored": 0, "bytes": 1, "bits": 2, "zstd": 4, "bytes_zstd": 5, "bits_zstd": 6}.items():
        found[f"camera_table/{name}"] = camera_chunk(done, samples)
    found["camera_fits/images"] = camera_fits()
    found["camera_fits/no_values"] = fits_file(fits_image("SCALE", 8, (0, 5), b""))
    found["camera_fits/cut"] = camera_fits()[: 2880 + 2880 + 40]
    found["mfp/one_empty"] = mfp_with_one_empty_fragment()
    found["mfp/long"] = mfp_long()
    found["camera_group/three"] = camera_group(3, 0b101, 64)
    found["camera_group/many_absent"] = camera_group(520, 1 << 519, 0)
    found["rich_frame/three"] = rich_frame(2, 0, 5)
    found["daq/slice"] = l0_slice(2, 0, 5)[16:]
    found["daq/summary"] = daq_summary()
    found["daq/event"] = daq_event()
    found["slice_part/three"] = l0_slice(2, 0, 5)
    found["slice_part/too_many"] = l0_slice(51)
    found["rich_frame/cut"] = rich_frame(1, 3)[:-1]
    found["fabric/frames"] = fabric_frames()
    found["fabric/datagrams"] = fabric_datagrams()
    found["fabric/last_number"] = fabric_last_number()
    for name, first in {"past_2_32": 3, "to_2_64": 5}.items():
        found[f"fabric/{name}"] = bytes([first]) + b"".join(fabric_piece(n, 0, 30) for n in range(0, 60, 3))
    for name, way in {"sends": 1, "receives": 2, "both": 0}.items():
        found[f"handshake/{name}"] = bytes([way, 0, 0, 0, 0, 1, 0])
    found["handshake/small_ring"] = bytes([1, 0, 6, 0, 0, 1, 0])
    found["stream/hello"] = stream_hello()
    found["stream/messages"] = stream_messages()
    found["record/mep"] = published_record(4)
    found["record/odd_run"] = published_record(5)
    tagged = udp_frame(b"tagged", b"\x81\x00\x00\x07")
    found["frame/udp"] = b"\0\0" + udp_frame(bytes(40))
    found["frame/tagged"] = b"\0\0" + tagged
    found["frame/cut"] = b"\x10\0" + udp_frame(bytes(40))[:-16]
    found["capture/pcap"] = pcap(udp_frame(b"one"), tagged, udp_frame(bytes(30)))
    found["capture/pcapng"] = pcapng(udp_frame(b"one"), tagged)
    lies = bytearray(pcap(tagged))
    lies[36:40] = struct.pack("<I", 3)
    found["capture/longer_than_it_says"] = bytes(lies)
    found["capture/no_such_time"] = pcapng(tagged, time_high=2**31)
    found["capture/cut"] = pcap(udp_frame(b"one"), tagged)[:-5]
    found["exchange/assign"] = exchange_message(5, 3)
    found["exchange/alive"] = exchange_message(13, 0)
    for kind, name in enumerate(("push", "pull", "shift", "push_waiting")):
        found[f"station/{name}"] = station_acts(kind)
    for name, kind in {"standby_push": 6, "standby_pull": 7, "standby_shift": 8}.items():
        found[f"station/{name}"] = station_takes_over(kind)
    found["clb/no_hits"] = clb(0)
    found["clb/forty_hits"] = clb(40)
    return found | packet_seeds(found)


def packet_seeds(found: dict[str, bytes]) -> dict[str, bytes]:
    """One of each registered format, behind its number in the registry (engine/wire/packet_format.cpp)."""
    names = ["mgp/mgp_16bit_checksum", "camera/camera_waveforms", "clb/forty_hits", "mfp/mfp_three",
             "camera_group/three", "mep/mep_tel62", "mtp/mtp_primitives", "daq/slice", "rich_frame/three"]  # fmt: skip
    return {f"packet/{name.split('/')[0]}": bytes([i]) + found[name] for i, name in enumerate(names)}


def main() -> None:
    for name, content in seeds().items():
        path = HERE / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main()
