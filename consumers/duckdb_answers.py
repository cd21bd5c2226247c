"""Asks DuckDB for what stands on standard input, a query after another, each ended by a line with nothing in it but a semicolon. Tables are the Parquet
files of the folders that are named. Prints a line of JSON for each answer: its columns and its rows; or its error."""

import json
import pathlib
import sys

import duckdb

database = duckdb.connect()
for folder in sys.argv[1:]:
    for path in sorted(pathlib.Path(folder).glob("*.parquet")):
        database.execute(f"create view \"{path.stem}\" as select * from read_parquet('{path}')")
for query in sys.stdin.read().split("\n;\n"):
    if not query.strip():
        continue
    try:
        answer = database.execute(query)
        columns = [column[0] for column in answer.description]
        rows = [list(row) for row in answer.fetchall()]
        print(json.dumps({"columns": columns, "rows": rows}, default=str), flush=True)
    except duckdb.Error as error:
        print(json.dumps({"error": str(error)}), flush=True)
