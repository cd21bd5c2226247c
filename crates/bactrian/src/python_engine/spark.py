# Spark, whose master is the argument.

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


def table(name, columns, paths):
    schema = ", ".join(f"`{column}` {kind}" for column, kind in columns)
    if paths:
        # Folders are by date and hour; those are no columns. Columns that a file does not have are null.
        read = spark.read.schema(schema).option("recursiveFileLookup", "true")
        rows = read.parquet(*paths)
    else:
        rows = spark.createDataFrame([], schema)
    rows.createOrReplaceTempView(name)


def keep(name, sql):
    kept = spark.sql(sql).cache()
    kept.count()
    kept.createOrReplaceTempView(name)


def answer(sql):
    result = spark.sql(sql)
    return result.columns, result.collect()


serve(table, keep, answer)
spark.stop()
