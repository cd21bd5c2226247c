"""Answers `bactrian fleet --engine duckdb` with the user's own DuckDB. Each line of standard input is a task in JSON, each line of
standard output its outcome: a table of Parquet files, an answer that is kept as a table, or the rows of an answer."""

import ctypes
import json
import math
import os
import signal
import sys

# What the engine itself prints, such as a bar of progress, is no outcome.
outcomes = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

# If bactrian is killed in the middle of an answer, nobody waits for it.
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

import duckdb

database = duckdb.connect()


def plain(value):
    """What JSON can say."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def done(task):
    if "table" in task:
        files = [path + "/**/*.parquet" for path in task["paths"]]
        # Folders are by date and hour; those are no columns. Columns that a file does not have are null.
        rows = f"read_parquet({files}, union_by_name = true, hive_partitioning = false)"
        known = set()
        if files:
            known = {column[0] for column in database.execute(f"describe select * from {rows}").fetchall()}
        columns = [name if name in known else f"cast(null as {kind}) as {name}" for name, kind in task["columns"]]
        source = f"from {rows}" if files else "where 1 = 0"
        database.execute(f"create view {task['table']} as select {', '.join(columns)} {source}")
        return {}
    if "keep" in task:
        database.execute(f"create table {task['keep']} as {task['sql']}")
        return {}
    answer = database.execute(task["sql"])
    rows = [[plain(value) for value in row] for row in answer.fetchall()]
    return {"columns": [column[0] for column in answer.description], "rows": rows}


for line in sys.stdin:
    try:
        outcome = done(json.loads(line))
    except Exception as error:  # Whatever is wrong is the outcome.
        outcome = {"error": str(error)}
    print(json.dumps(outcome, default=str), file=outcomes, flush=True)
