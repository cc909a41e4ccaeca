# SPDX-License-Identifier: Apache-2.0
"""A model of the lines of rtl/links, written from the standard and the modules' header comments, not their code."""

from __future__ import annotations

FIVE = [
    "100111",
    "011101",
    "101101",
    "110001",
    "110101",
    "101001",
    "011001",
    "111000",
    "111001",
    "100101",
    "010101",
    "110100",
    "001101",
    "101100",
    "011100",
    "010111",
    "011011",
    "100011",
    "010011",
    "110010",
    "001011",
    "101010",
    "011010",
    "111010",
    "110011",
    "100110",
    "010110",
    "110110",
    "001110",
    "101110",
    "011110",
    "101011",
]
FOUR = ["1011", "1001", "0101", "1100", "1101", "1010", "0110", "1110"]
K28 = [
    "0011110100",
    "0011111001",
    "0011110101",
    "0011110011",
    "0011110010",
    "0011111010",
    "0011110110",
    "0011111000",
]  # after -1
K_OTHERS = {0xF7: "1110101000", 0xFB: "1101101000", 0xFD: "1011101000", 0xFE: "0111101000"}
CONTROLS = [0x1C | y << 5 for y in range(8)] + list(K_OTHERS)


def inverted(bits: str) -> str:
    return bits.translate(str.maketrans("01", "10"))


def disparity(bits: str) -> int:
    return bits.count("1") - bits.count("0")


def encoded(byte: int, is_k: bool, plus: bool) -> tuple[str, bool]:
    """The ten bits of a byte in the order of sending, and whether the disparity after it is +1."""
    if is_k:
        bits = K28[byte >> 5] if byte & 31 == 28 else K_OTHERS[byte]
        bits = inverted(bits) if plus else bits
        return bits, plus ^ (disparity(bits) != 0)
    x, y = byte & 31, byte >> 5
    six = FIVE[x]
    if plus and (disparity(six) or x == 7):
        six = inverted(six)
    middle = plus ^ (disparity(six) != 0)
    four = "0111" if y == 7 and x in ((11, 13, 14) if middle else (17, 18, 20)) else FOUR[y]
    if middle and (disparity(four) or y == 3):
        four = inverted(four)
    return six + four, middle ^ (disparity(four) != 0)


def meanings(plus: bool) -> dict[str, tuple[int, bool]]:
    """Each code that may follow this disparity, and its byte."""
    table = {encoded(byte, False, plus)[0]: (byte, False) for byte in range(256)}
    return table | {encoded(byte, True, plus)[0]: (byte, True) for byte in CONTROLS}


def crc32c(data: bytes, state: int = 0xFFFFFFFF) -> int:
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state


def slot(
    words: list[int], n_bytes: int, begins: bool, ends: bool, number: int, index: int, slot_words: int = 4
) -> bytes:
    """A channel's slot: words of 64 bits in use, bytes of the last, and its place in the packet and in the frame."""
    data = b"".join(word.to_bytes(8, "little") for word in words).ljust(8 * slot_words, b"\0")
    trailer = len(words) | (n_bytes - 1) << 4 | begins << 7 | ends << 8 | (number & 127) << 9
    data += trailer.to_bytes(2, "little")
    return data + crc32c(data, 0xFFFFFFFF ^ index).to_bytes(4, "little")


def frame(clock: int, slots: list[bytes]) -> list[tuple[int, bool]]:
    """The frame's bytes, each with whether it is a control character."""
    head = clock.to_bytes(8, "little")
    data = head + crc32c(head).to_bytes(4, "little") + b"".join(slots)
    return [(0xBC, True), (0x50, False)] + [(byte, False) for byte in data]
