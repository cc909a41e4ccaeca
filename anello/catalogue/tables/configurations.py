# SPDX-License-Identifier: Apache-2.0
"""Configurations of runs: each is stored once, under the digest of its values."""

import json
import sqlite3

from anello.catalogue.tables.database import Database, NoSuchError, Row
from anello.configuration.origin import Origin


class ConfigurationTable:
    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, digest: str) -> Row:
        """One configuration: digest, chain, values (by dotted key), toml, parent (the digest that the chain had
        before), author, at_ns. The first letters of a digest are enough where no other digest begins with them.
        Raises NoSuchError."""
        found = self._database.rows(
            "SELECT * FROM config WHERE substr(digest, 1, length(?1)) = ?1 ORDER BY digest", digest
        )
        if len(found) != 1 and digest not in (row["digest"] for row in found):
            known = f"these begin so: {', '.join(row['digest'] for row in found[:5])}" if found else "none begins so"
            raise NoSuchError(f"there is no configuration {digest!r} in {self._database.path}: {known}")
        return found[0] | {"values": json.loads(found[0]["values"])}

    def find(self, chain: str | None = None) -> list[Row]:
        """Configurations, newest first: digest, chain, name, parent, author, at_ns; the number of runs that used it,
        first_run and last_run: their numbers, None where no run used it."""
        where, values = ("WHERE config.chain = ?", (chain,)) if chain else ("", ())
        return self._database.rows(
            "SELECT digest, config.chain, json_extract(\"values\", '$.\"run.name\"') AS name, parent, author, at_ns,"
            " count(number) AS runs, min(number) AS first_run, max(number) AS last_run"
            f" FROM config LEFT JOIN run ON config = digest {where} GROUP BY digest ORDER BY at_ns DESC, digest",
            *values,
        )  # fmt: skip

    def add(self, origin: Origin) -> str:
        """Stores a configuration that no run has used yet, and returns its digest. Raises CatalogueError."""
        with self._database.writing() as database:
            keep_configuration(database, origin)
        return origin.config_digest


def keep_configuration(database: sqlite3.Connection, origin: Origin) -> None:
    """Stores a run's configuration. Called inside a transaction."""
    last = database.execute("SELECT config FROM run WHERE chain = ? ORDER BY number DESC LIMIT 1", (origin.chain,))
    parent = last.fetchone()
    database.execute(
        "INSERT OR IGNORE INTO config VALUES (?, ?, ?, ?, ?, ?, ?)",
        (origin.config_digest, origin.chain, json.dumps(dict(origin.values), sort_keys=True), origin.configuration,
         parent and parent[0], origin.user, origin.started_ns),
    )  # fmt: skip
