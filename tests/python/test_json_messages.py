# SPDX-License-Identifier: Apache-2.0
"""Messages of other processes: what is bounded, what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anello.system.json_messages import MAX_DEPTH, MalformedError, decode, encode


def nested(depth: int) -> bytes:
    return b'{"a":' * (depth - 1) + b"{}" + b"}" * (depth - 1)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no JSON: "), (b"{", "no JSON: "), (b"\xff", "no JSON: "), (b'{"a": "\\ud800"}', "no JSON: "),
        (b"[]", "no JSON object"), (b"null", "no JSON object"), (b" " * 101, "it has more than 100 bytes"),
        (nested(MAX_DEPTH + 1), f"deeper than {MAX_DEPTH} levels"), (b"[" * 99_999, f"deeper than {MAX_DEPTH} levels"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused_in_words(content: bytes, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        decode(content, 100 if content.isspace() else 100_000)


def test_what_is_as_deep_as_it_may_be_is_read() -> None:
    content = nested(MAX_DEPTH)
    assert encode(decode(content, len(content))) == content


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(content: bytes) -> None:
    try:
        fields = decode(content, 200)
    except MalformedError:
        return
    assert isinstance(fields, dict)


@given(st.dictionaries(st.text(), st.recursive(st.integers() | st.text() | st.none(), st.lists, max_leaves=20)))
def test_what_is_sent_is_what_comes(fields: dict[str, object]) -> None:
    content = encode(fields)
    assert decode(content, len(content)) == fields
