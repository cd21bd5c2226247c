# ClickHouse: the server whose address is the argument, by its interface for HTTP; without one, chDB, which is ClickHouse in this
# process.

import base64
import re
import urllib.error
import urllib.parse
import urllib.request
import uuid

SETTINGS = {
    # As in the SQL of others: a name means the column, a join without a partner gives null, and so does an empty aggregate.
    "prefer_column_name_to_alias": 1,
    "join_use_nulls": 1,
    "aggregate_functions_null_for_empty": 1,
    "use_hive_partitioning": 0,
    "output_format_json_quote_64bit_integers": 0,
    "output_format_json_quote_denormals": 0,
}


class Server:
    """A session with a server."""

    def __init__(self, address):
        url = urllib.parse.urlsplit(address)
        port = url.port or 8123
        scheme = "https" if port in (443, 8443) else "http"
        host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
        session = {"session_id": str(uuid.uuid4()), "session_timeout": 3600, "wait_end_of_query": 1}
        if url.path.strip("/"):
            session["database"] = urllib.parse.unquote(url.path.strip("/"))
        self.url = f"{scheme}://{host}:{port}/?" + urllib.parse.urlencode(session | SETTINGS)
        user = urllib.parse.unquote(url.username or os.environ.get("CLICKHOUSE_USER", "default"))
        password = urllib.parse.unquote(url.password or "") or os.environ.get("CLICKHOUSE_PASSWORD", "")
        self.headers = {"X-ClickHouse-User": user, "X-ClickHouse-Key": password}

    def ask(self, sql):
        request = urllib.request.Request(self.url, sql.encode(), self.headers)
        try:
            with urllib.request.urlopen(request) as response:
                return response.read().decode()
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode(errors="replace").strip() or str(error)) from error
        except urllib.error.URLError as error:
            raise RuntimeError(f"no connection: {error.reason}") from error


class Embedded:
    """A session with chDB."""

    def __init__(self):
        from chdb import session

        self.session = session.Session()
        for name, value in SETTINGS.items():
            self.ask(f"set {name} = {value}")

    def ask(self, sql):
        return self.session.query(sql, "JSONCompact").data()


engine = Server(sys.argv[1]) if len(sys.argv) > 1 else Embedded()
files = {}


def table(name, columns, paths):
    # Columns that a file does not have are null.
    kinds = {"STRING": "String"}
    schema = quoted(", ".join(f"{column} Nullable({kinds.get(kind, kind)})" for column, kind in columns))
    function = {"s3": "s3", "gs": "gcs", "az": "azureBlobStorage"}
    sources = []
    for path in paths:
        pattern = quoted(path + "/**/*.parquet")
        reader = function.get(path.split("://")[0], "file") if "://" in path else "file"
        sources.append(f"select * from {reader}({pattern}, 'Parquet', {schema})")
    nothing = f"select * from null({schema}) where 1 = 0"
    files[name] = " union all ".join(sources) or nothing


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def with_files(sql):
    """The same with the tables of files that it names: nothing is created in a server."""
    named = [name for name in files if re.search(rf"\b{name}\b", sql)]
    tables = ", ".join(f"{name} as ({files[name]})" for name in named)
    return f"with {tables} {sql}" if named else sql


def keep(name, sql):
    engine.ask(f"create temporary table {name} engine = Memory as {with_files(sql)}")


def answer(sql):
    text = engine.ask(with_files(sql) + " format JSONCompact")
    try:
        result = json.loads(text)
    except ValueError as error:
        raise RuntimeError(f"this is no answer of ClickHouse: {text[:200]}") from error
    return [column["name"] for column in result["meta"]], result["data"]


serve(table, keep, answer)
