# SPDX-License-Identifier: Apache-2.0
"""The parts that KM3NeT registers with anello. Names are relative to this package, wherever it is installed."""

from anello.registry import Registration, SearchKeys

REGISTRATION = Registration(
    about="slices and coincidences of a KM3NeT line",
    config=f"{__package__}.configuration.config:Km3netConfig",
    presentation=f"{__package__}.report.presentation:Km3netPresentation",
    live=f"{__package__}.report.live_view:Km3netLive",
    chain=f"{__package__}.chain:Km3netChain",
    feed=f"{__package__}.feed:Km3netFeed",
    virtual=f"{__package__}.virtual:VIRTUAL",
    farm=f"{__package__}.farm:Km3netPart",
    outputs={"slices": "coincidences, events, messages"},
    search=SearchKeys("boards.singles_hz", ("run.duration_s={seconds}", "run.n_slices=0"), "last_to_decided"),
)
