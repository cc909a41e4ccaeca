# SPDX-License-Identifier: Apache-2.0
# Made by bindings/make_engine_keys.py from the tables of keys in C++; not written by hand.
"""Sections, and parts of sections, whose keys are declared in C++."""

from pydantic import Field

from anello.section import Section


class Km3netFaultsKeys(Section):
    """Faults that the boards make on purpose, by run.seed. Shares are per datagram and DOM."""

    loss: float = Field(default=0, ge=0, le=1, description="Share of datagrams that are not sent.")
    duplicate: float = Field(default=0, ge=0, le=1, description="Share of datagrams that are sent twice.")
    reorder: float = Field(default=0, ge=0, le=1, description="Share of datagrams that are sent after their successor.")
    dead_board: int = Field(default=-1, ge=-1, le=4_095, description="DOM that falls silent; -1: none.")
    dead_from_slice: int = Field(default=0, ge=0, le=4_294_967_295, description="First slice without it, from 0.")
