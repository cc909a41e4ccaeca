# SPDX-License-Identifier: Apache-2.0
"""The parts that the RICH registers with anello."""

from anello.registry import Registration, SearchKeys

REGISTRATION = Registration(
    about="rings of the NA62 RICH",
    config="anello.rich.configuration.config:RichConfig",
    presentation="anello.rich.report.presentation:RichPresentation",
    live="anello.rich.report.live_view:RichLive",
    chain="anello.rich.chain:RichChain",
    feed="anello.rich.feed:RichFeed",
    farm="anello.rich.farm:RichPart",
    virtual="anello.rich.virtual:VIRTUAL",
    simulate="anello.rich.analysis.simulation:simulate",
    python={
        "Rings": "anello.rich.analysis.rings:Rings",
        "events_csv": "anello.rich.analysis.events_csv",
        "physics": "anello.rich.analysis.physics",
        "plot": "anello.rich.analysis.plot",
    },
    commands=("anello.rich.commands.cli:rings", "anello.rich.commands.cli:tune", "anello.rich.commands.cli:identify"),
    versions="anello.rich.commands.cli:versions",
    outputs={"trigger": "rings and primitives"},
    search=SearchKeys(
        "source.rate_hz",
        (
            "source.burst_ms={ms}",
            "source.gap_ms=0.0",
            "source.n_bursts=1",
            "source.max_truth_samples=0",
            "trigger.deadline_us=0",
        ),
        "sent_to_decided",
        ("event_to_decided",),
    ),
    is_default=True,
)
