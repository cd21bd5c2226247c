"""Answers `bactrian fleet --engine spark://..` with the user's own Spark. Each line of standard input is a task in JSON, each line of
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

from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master(sys.argv[1])
    .appName("bactrian fleet")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "UTC")
    # A backslash in a name is a backslash.
    .config("spark.sql.parser.escapedStringLiterals", "true")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")


def plain(value):
    """What JSON can say."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def done(task):
    if "table" in task:
        schema = ", ".join(f"`{name}` {kind}" for name, kind in task["columns"])
        if task["paths"]:
            # Folders are by date and hour; those are no columns. Columns that a file does not have are null.
            read = spark.read.schema(schema).option("recursiveFileLookup", "true")
            table = read.parquet(*task["paths"])
        else:
            table = spark.createDataFrame([], schema)
        table.createOrReplaceTempView(task["table"])
        return {}
    answer = spark.sql(task["sql"])
    if "keep" in task:
        kept = answer.cache()
        kept.count()
        kept.createOrReplaceTempView(task["keep"])
        return {}
    rows = [[plain(value) for value in row] for row in answer.collect()]
    return {"columns": answer.columns, "rows": rows}


for line in sys.stdin:
    try:
        outcome = done(json.loads(line))
    except Exception as error:  # Whatever is wrong is the outcome.
        outcome = {"error": str(error)}
    print(json.dumps(outcome, default=str), file=outcomes, flush=True)
spark.stop()
