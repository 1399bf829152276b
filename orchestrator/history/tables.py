"""The tables of the index, for SQLite and PostgreSQL alike."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

VERSION = 1
"""Of the tables below. An index of another version is thrown away and made again from the folders."""

METADATA = MetaData()

META = Table("proctor_meta", METADATA, Column("version", Integer, nullable=False))

RUNS = Table(
    "proctor_runs",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("folder", Text, nullable=False),
    Column("host", Text, nullable=False),  # the machine on which `folder` is to be found
    Column("stamp", Text, nullable=False),  # of the files it was read from; another one means: read again
    Column("benchmark", Text, nullable=False),
    Column("benchmark_version", Text, nullable=False),
    Column("started", Text, nullable=False),
    Column("agents", Text, nullable=False),  # JSON
    Column("repeats", Integer, nullable=False),
    Column("provider", Text, nullable=False),
    Column("machine", Text, nullable=False),
    Column("revision", Text, nullable=False),
    Column("header", Text, nullable=False),  # JSON: versions, machine, git, argv, resumed
    Column("planned", Integer, nullable=False),
    Column("passed", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("unscored", Integer, nullable=False),
    Column("errored", Integer, nullable=False),
    Column("invalid", Integer, nullable=False),
    Column("not_run", Integer, nullable=False),
    Column("mean_score", Float),
    Column("seconds", Float, nullable=False),  # of all trials together
    Column("cost", Float),
    Index("proctor_runs_started", "started"),
)

TAGS = Table(
    "proctor_tags",
    METADATA,
    Column("run_id", Text, ForeignKey("proctor_runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("tag", Text, primary_key=True),
    Index("proctor_tags_tag", "tag"),
)

TRIALS = Table(
    "proctor_trials",
    METADATA,
    Column("run_id", Text, ForeignKey("proctor_runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True),  # its place in the plan, from 0
    Column("trial", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("end", Text, nullable=False),
    Column("score", Float),
    Column("question_score", Float),
    Column("seconds", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("rubric", Text, nullable=False),
    Column("executors", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("cost", Float),
    Column("tokens", Float),
    Column("checks", Text, nullable=False),  # JSON
    Column("deltas", Text, nullable=False),  # JSON
    Index("proctor_trials_task", "task"),
    Index("proctor_trials_status", "status"),
)
