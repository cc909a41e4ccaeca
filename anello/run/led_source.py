# SPDX-License-Identifier: Apache-2.0
"""The front ends that a run starts: `anello source --led`, a process that loads only what it needs: neither the
command line nor the modules for terminal output."""

import json
from collections.abc import Sequence
from pathlib import Path

from anello.errors import in_words
from anello.system import exit_codes, interruption, output


def main(arguments: Sequence[str]) -> int:
    """arguments: the configuration's file, then --set, --events and --truth with their values (SourceProcess)."""
    output.shelter()
    try:
        _serve(arguments)
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except Exception as error:
        code = exit_codes.of(error)
        if code is None:
            raise
        print(json.dumps({"state": "failed", "error": in_words(error), "exit_code": code}), flush=True)
        return code
    return 0


def _serve(arguments: Sequence[str]) -> None:
    from anello.configuration.load import load_with_front_ends
    from anello.run import source_process
    from anello.run.chain_of import chain_of

    file, *options = arguments
    given: dict[str, list[str]] = {"--set": [], "--events": [], "--truth": []}
    for option, value in zip(options[::2], options[1::2], strict=True):
        given[option].append(value)
    config = load_with_front_ends(Path(file), given["--set"])
    chain = chain_of(config)
    sender = chain.make_source(chain.events_of(Path(given["--events"][0])) if given["--events"] else None)
    truth = Path(given["--truth"][0]) if given["--truth"] else None
    interruption.raise_from_now_on()
    source_process.serve(sender, truth, config.run.refresh_ms * 1e-3, first=config.front_ends_go_first)
