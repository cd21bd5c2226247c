"""The frame of the drivers by which `bactrian fleet --engine ..` asks the user's own engine. Each line of standard input is a task in
JSON, each line of standard output its outcome: a table of Parquet files, an answer that is kept as a table, or the rows of an answer."""

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


def plain(value):
    """What JSON can say."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def serve(table, keep, answer):
    """Does all tasks, by the engine's functions for each kind."""
    for line in sys.stdin:
        task = json.loads(line)
        outcome = {}
        try:
            if "table" in task:
                table(task["table"], task["columns"], task["paths"])
            elif "keep" in task:
                keep(task["keep"], task["sql"])
            else:
                columns, rows = answer(task["sql"])
                outcome = {"columns": columns, "rows": [[plain(value) for value in row] for row in rows]}
        except Exception as error:  # Whatever is wrong is the outcome.
            outcome = {"error": str(error)}
        print(json.dumps(outcome, default=str), file=outcomes, flush=True)
