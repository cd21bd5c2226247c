# DuckDB, in this process.

import duckdb

database = duckdb.connect()


def table(name, columns, paths):
    files = [path + "/**/*.parquet" for path in paths]
    # Folders are by date and hour; those are no columns. Columns that a file does not have are null.
    rows = f"read_parquet({files}, union_by_name = true, hive_partitioning = false)"
    known = set()
    if files:
        known = {column[0] for column in database.execute(f"describe select * from {rows}").fetchall()}
    columns = [column if column in known else f"cast(null as {kind}) as {column}" for column, kind in columns]
    source = f"from {rows}" if files else "where 1 = 0"
    database.execute(f"create view {name} as select {', '.join(columns)} {source}")


def keep(name, sql):
    database.execute(f"create table {name} as {sql}")


def answer(sql):
    result = database.execute(sql)
    return [column[0] for column in result.description], result.fetchall()


serve(table, keep, answer)
