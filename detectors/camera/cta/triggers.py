# SPDX-License-Identifier: Apache-2.0
"""Converts Anello's trigger tag into the bits of the camera's boards and the event_type of R1v1 and ctapipe, and back.

Types are those of ctapipe's EventType. The engine defines which bits make which type, as its filter decides by it.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import engine
from ..event import TriggerTag

SHOWER = 32  # of ctapipe's EventType
TIB_PRESENT, CDTS_PRESENT = 1, 2  # of extdevices_presence
TIB_BYTES, TIB_MASK_AT = 12, 11
CDTS_BYTES, CDTS_TYPE_AT = 36, 28
OLD_CDTS_BYTES, OLD_CDTS_TYPE_AT = 31, 28  # until 2019
DIGICAM_TAGS = {1: TriggerTag.MONO, 8: TriggerTag.PEDESTAL}  # of event_type; 8: at random times, for the night sky

# fmt: off
_TAG_OF_TYPE = {
    0: TriggerTag.CALIBRATION, 1: TriggerTag.SINGLE_PE, 2: TriggerTag.PEDESTAL, 3: TriggerTag.PEDESTAL,
    4: TriggerTag.PEDESTAL, 17: TriggerTag.STEREO, 24: TriggerTag.SOFTWARE, 32: TriggerTag.MONO,
}
# fmt: on


def event_type(tag: int) -> int:
    return int(_types()[tag])


def is_calibration(tags: NDArray[Any]) -> NDArray[np.bool_]:
    """For trigger tags: whether the event is a pedestal, a flat field or single photo-electrons."""
    found: NDArray[np.bool_] = _types()[tags.astype(np.uint8)] != SHOWER
    return found


@cache
def _types() -> NDArray[np.uint8]:
    return engine().event_types()


def tag_of_type(kind: int) -> int:
    """0 for types that no trigger makes."""
    return int(_TAG_OF_TYPE.get(kind, 0))


def tag_of_boards(presence: int, tib: NDArray[np.uint8] | None, cdts: NDArray[np.uint8] | None) -> int:
    """The tag from the time stamping board, else from the trigger interface board; 0 if neither gives one.

    presence: extdevices_presence. The boards' bytes, as the event builder stores them.
    """
    if presence & CDTS_PRESENT and cdts is not None and len(cdts) in (CDTS_BYTES, OLD_CDTS_BYTES):
        at = CDTS_TYPE_AT if len(cdts) == CDTS_BYTES else OLD_CDTS_TYPE_AT
        if tag := _known(cdts[at]):
            return tag
    if presence & TIB_PRESENT and tib is not None and len(tib) == TIB_BYTES:
        return _known(tib[TIB_MASK_AT])
    return 0


def _known(bits: Any) -> int:
    """A byte with a bit that no trigger sets does not come from these boards."""
    return int(bits) if int(bits) < 128 else 0
