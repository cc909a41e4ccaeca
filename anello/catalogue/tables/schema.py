# SPDX-License-Identifier: Apache-2.0
"""The catalogue's tables, version by version. Times are wall clock, ns; no run number is used twice."""

import sqlite3
from collections.abc import Iterator

APPLICATION = 0x414E4C4F  # "ANLO", in the file's head

RUNS = """
CREATE TABLE config(  -- one row for each that a run or a user had
  digest TEXT PRIMARY KEY, chain TEXT NOT NULL, "values" TEXT NOT NULL,  -- JSON, by dotted key
  toml TEXT NOT NULL, parent TEXT,  -- what the run before it had, of the same chain
  author TEXT NOT NULL, at_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE run(
  number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, chain TEXT NOT NULL, state TEXT NOT NULL,
  quality TEXT NOT NULL DEFAULT 'unknown', started_ns INTEGER NOT NULL, ended_ns INTEGER,
  operator TEXT NOT NULL, host TEXT NOT NULL, version TEXT NOT NULL, commit_sha TEXT NOT NULL, command TEXT NOT NULL,
  config TEXT NOT NULL REFERENCES config(digest), directory TEXT NOT NULL,
  -- its process; start in ticks since the machine's
  process INTEGER NOT NULL, process_start INTEGER NOT NULL, boot TEXT NOT NULL, number_space INTEGER NOT NULL,
  page TEXT NOT NULL,
  -- how it ended
  exit_code INTEGER, balanced INTEGER, events INTEGER, lost INTEGER, bytes INTEGER, seconds REAL,
  leg TEXT, p50_ns REAL, p999_ns REAL, verdict TEXT, quality_found TEXT, comment TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX run_state ON run(state);
CREATE TABLE loss(
  run INTEGER NOT NULL REFERENCES run(number), cause TEXT NOT NULL, n INTEGER NOT NULL, ordered INTEGER NOT NULL,
  PRIMARY KEY(run, cause, ordered)
) STRICT, WITHOUT ROWID;
CREATE TABLE latency(  -- bins: JSON, [[lower edge, upper edge, count], ...] of those with events; ns
  run INTEGER NOT NULL REFERENCES run(number), leg TEXT NOT NULL, count INTEGER NOT NULL, bins TEXT NOT NULL,
  PRIMARY KEY(run, leg)
) STRICT, WITHOUT ROWID;
CREATE TABLE file(
  run INTEGER NOT NULL REFERENCES run(number), path TEXT NOT NULL,  -- below the run's directory
  bytes INTEGER NOT NULL, sha256 TEXT, closed_ns INTEGER NOT NULL, PRIMARY KEY(run, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE counter(id INTEGER PRIMARY KEY, process TEXT NOT NULL, block TEXT NOT NULL, name TEXT NOT NULL,
  UNIQUE(process, block, name)) STRICT;
CREATE TABLE counter_end(  -- value: an integer; text where it has more than 63 bits
  run INTEGER NOT NULL REFERENCES run(number), counter INTEGER NOT NULL REFERENCES counter(id), value ANY NOT NULL,
  PRIMARY KEY(run, counter)
) STRICT, WITHOUT ROWID;
CREATE VIEW counters AS SELECT run, process, block, name, value FROM counter_end JOIN counter ON id = counter;
CREATE TABLE notice(
  id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER REFERENCES run(number), t_ns INTEGER NOT NULL,
  severity TEXT NOT NULL, source TEXT NOT NULL, text TEXT NOT NULL, times INTEGER NOT NULL
) STRICT;
CREATE INDEX notice_run ON notice(run);
"""

CONTROL = """
CREATE TABLE metric(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE history(  -- value: mean, greatest: maximum of n samples from t_ns on
  metric INTEGER NOT NULL REFERENCES metric(id), t_ns INTEGER NOT NULL, run INTEGER,
  value REAL NOT NULL, greatest REAL NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(metric, t_ns)
) STRICT, WITHOUT ROWID;
CREATE TABLE thinned(until_ns INTEGER NOT NULL) STRICT;  -- one row: what is older is as thin as it gets
CREATE TABLE alarm(  -- change: rises with each change of any alarm
  id INTEGER PRIMARY KEY AUTOINCREMENT, rule TEXT NOT NULL, run INTEGER, severity TEXT NOT NULL, text TEXT NOT NULL,
  raised_ns INTEGER NOT NULL, cleared_ns INTEGER, acked_by TEXT, acked_ns INTEGER, change INTEGER NOT NULL UNIQUE
) STRICT;
CREATE UNIQUE INDEX alarm_raised ON alarm(rule) WHERE cleared_ns IS NULL;  -- a rule's alarm is raised once
CREATE TABLE log(
  id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER REFERENCES run(number), t_ns INTEGER NOT NULL,
  author TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE INDEX log_run ON log(run);
"""

VERDICT = "ALTER TABLE run ADD COLUMN word TEXT;"  # the verdict's word

MIGRATIONS = (RUNS, CONTROL, VERDICT)  # the first makes version 1, and so on; a published one is never changed
VERSION = len(MIGRATIONS)


class WrongVersionError(sqlite3.DatabaseError):
    """A newer program has made the file."""


def migrate(database: sqlite3.Connection) -> None:
    """Brings the file to this program's version, in one step or not at all; another process may do the same at this
    moment. Raises sqlite3.Error."""
    if check(database):
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        for script in MIGRATIONS[_version(database) :]:
            for statement in _statements(script):
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def check(database: sqlite3.Connection) -> bool:
    """True if the file has this program's version; False if it is older and can be migrated. Raises sqlite3.Error."""
    version = _version(database)
    (application,) = database.execute("PRAGMA application_id").fetchone()
    if version > VERSION:
        raise WrongVersionError(f"it has version {version}, and this program knows {VERSION}")
    if version and application != APPLICATION:
        raise WrongVersionError("it is another program's")
    return version == VERSION


def _version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return int(version)


def _statements(script: str) -> Iterator[str]:
    """The script's statements one by one, because executescript would end the transaction."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
