# SPDX-License-Identifier: Apache-2.0
"""Searches for faults with new seeds, kind by kind: farms and chains in virtual time, properties of the C++ and the
Python tests, fuzzers, kills of processes. What it finds is reduced and written as a case that tests replay; commit it
with its mend. What was searched is counted in tests/cases/searched.json; commit that, too.

Exit code 0: nothing found. 1: something found. 2: something could not be searched. Ctrl-C ends it, in order.
"""

import argparse
import signal
import sys
import threading
from collections.abc import Sequence

from new_seeds import cases, examples, fuzzers, properties, virtual
from new_seeds.account import Account
from new_seeds.kills import Kills
from new_seeds.kind import Kind
from new_seeds.rounds import Search


def kinds() -> list[Kind]:
    """Kinds of search; those of which one piece may last longer than its share come last."""
    return [
        virtual.Virtual("farms", [], virtual.FARM_COUNTS, cases.FOLDER / "farm_seeds.txt", share=0.19),
        *(
            virtual.Virtual(chain, ["--chain", chain], virtual.chain_counts(chain),
                            cases.FOLDER / f"{chain}_chain_seeds.txt", share=0.07)
            for chain in ("rich", "camera", "km3net")
        ),
        fuzzers.Fuzzers(),
        properties.CppProperties(properties.properties()),
        examples.Examples(examples.files()),
        Kills(),
    ]  # fmt: skip


def minutes(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError("must be above 0")
    return number


def arguments(words: Sequence[str], known: Sequence[Kind]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev search", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [kind.name for kind in known]
    parser.add_argument("--minutes", type=minutes, default=10.0, help="for all kinds together (default: 10)")
    parser.add_argument("--only", action="append", choices=names, metavar="KIND",
                        help=f"only this kind: {', '.join(names)}; repeatable")  # fmt: skip
    parser.add_argument("--look", action="store_true", help="only look at the options, and print the kinds")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    known = kinds()
    asked = arguments(words, known)
    chosen = [kind for kind in known if not asked.only or kind.name in asked.only]
    if asked.look:
        print(*(kind.name for kind in chosen))
        return 0
    stop = threading.Event()

    def asked_to_end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)  # the second time it ends at once
        stop.set()

    signal.signal(signal.SIGINT, asked_to_end)
    signal.signal(signal.SIGTERM, asked_to_end)
    account = Account(n_fuzzed=fuzzers.read_executions(fuzzers.EXECUTIONS).total())
    return Search(chosen, account, stop).run(asked.minutes * 60)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
