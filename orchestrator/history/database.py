"""The database an index lives in: SQLite beside the runs, PostgreSQL by PROCTOR_STORE, or memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, delete, event, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, OperationalError
from sqlalchemy.pool import StaticPool

from orchestrator.errors import AuthoringError, InfrastructureError
from orchestrator.history.tables import META, METADATA, VERSION

VARIABLE = "PROCTOR_STORE"
FILE = ".index.sqlite"
"""In the folder of runs."""
PATIENCE = 10
"""Seconds to wait for a server to answer, or for another proctor that is writing."""
_ALONE = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "SELECT pg_advisory_xact_lock(7073627)"}
"""What keeps others out until the transaction ends; SQLite's tables are made within it, too."""


def opened(root: Path, environment: Mapping[str, str] = os.environ) -> Engine:
    """The database for the runs below `root`, its tables made and of this version.

    A folder or file that cannot be written gets an index in memory. A damaged file is made again. Raises
    AuthoringError for a PROCTOR_STORE that is no address, InfrastructureError for a server that does not
    answer.
    """
    address = environment.get(VARIABLE, "").strip()
    if address:
        return _server(_url(address))
    file = root / FILE
    if not os.access(root, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        return _prepared(_sqlite(None))
    try:
        return _prepared(_sqlite(file))
    except DatabaseError as error:
        if isinstance(error, OperationalError) and "locked" in str(error):
            raise InfrastructureError(f"{file} is locked by another process: {error.orig}") from None
        for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
            (root / name).unlink(missing_ok=True)
        return _prepared(_sqlite(file))


def said(error: DBAPIError) -> str:
    """The database's own words, in a line; where it is ours and broken, what to do."""
    words = next(iter(str(error.orig).strip().splitlines()), "no answer")
    damaged = "malformed" in words or "not a database" in words
    return f"{words}; delete {FILE} in the folder of runs, it is made again" if damaged else words


def _url(address: str) -> URL:
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise AuthoringError(
            f"{VARIABLE} is no database address; write postgresql://user@host/name"
        ) from None
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise AuthoringError(
            f"{VARIABLE} names {url.drivername}; only PostgreSQL is supported: postgresql://user@host/name"
        )
    return url.set(drivername="postgresql+psycopg")


def _server(url: URL) -> Engine:
    shown = url.render_as_string(hide_password=True).replace("+psycopg", "", 1)
    try:
        engine = create_engine(url, connect_args={"connect_timeout": PATIENCE}, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise AuthoringError(
            f"{VARIABLE} names PostgreSQL, for which psycopg is missing; pip install 'proctor[postgres]'"
        ) from None
    try:
        return _prepared(engine)
    except DBAPIError as error:
        engine.dispose()
        raise InfrastructureError(f"the database at {shown} cannot be used: {said(error)}") from None


def _sqlite(file: Path | None) -> Engine:
    if file is None:
        engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    else:
        engine = create_engine(f"sqlite:///{file}", connect_args={"timeout": PATIENCE})

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return engine


def _prepared(engine: Engine) -> Engine:
    """With this version's tables; those of another version are dropped first. Raises DatabaseError.

    Of several proctors that begin at the same moment one makes the tables, the others wait for it.
    """
    try:
        with engine.connect() as connection:
            ready = _version(connection) == VERSION
        if not ready:
            with engine.begin() as connection:
                connection.exec_driver_sql(_ALONE[engine.dialect.name])
                if _version(connection) != VERSION:
                    METADATA.drop_all(connection)
                    METADATA.create_all(connection)
                    connection.execute(delete(META))
                    connection.execute(META.insert().values(version=VERSION))
    except DatabaseError:
        engine.dispose()
        raise
    return engine


def _version(connection: Connection) -> int | None:
    if not inspect(connection).has_table(META.name):
        return None
    found = connection.execute(select(META.c.version)).scalar_one_or_none()
    return int(found) if found is not None else None
