"""Asks Spark for what stands on standard input, as duckdb_answers.py asks DuckDB, on two workers of their own. Tables are the Parquet files of the store
that is named: samples and stacks. What is created as a table is kept as a view of it, in memory."""

import json
import os
import re
import sys

from pyspark.sql import SparkSession

store = sys.argv[1]
# Two workers with a core and a gigabyte each, as processes of their own.
master = os.environ.get("SPARK_MASTER", "local-cluster[2,1,1024]")
spark = (
    SparkSession.builder.master(master)
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
for query in sys.stdin.read().split("\n;\n"):
    if not query.strip():
        continue
    try:
        view = re.match(r"create view (\w+) as", query)
        table = re.match(r"create table (\w+) as (.*)", query, re.DOTALL)
        if view:
            # Folders are by date and hour; those are no columns.
            read = spark.read.option("recursiveFileLookup", "true")
            read.parquet(f"{store}/{view.group(1)}").createOrReplaceTempView(view.group(1))
            columns, rows = [], []
        elif table:
            kept = spark.sql(table.group(2)).cache()
            kept.count()
            kept.createOrReplaceTempView(table.group(1))
            columns, rows = [], []
        else:
            answer = spark.sql(query)
            columns, rows = answer.columns, [list(row) for row in answer.collect()]
        print(json.dumps({"columns": columns, "rows": rows}, default=str), flush=True)
    except Exception as error:  # Whatever is wrong is the answer.
        print(json.dumps({"error": str(error)}), flush=True)
spark.stop()
