"""ClickHouse's interface for HTTP, answered by chDB: no ClickHouse server can be installed from the package registries. Prints its
port. Sessions and settings in the address are those of a server; users and databases are only compared with `reader`, `secret`
and `profiles`."""

import http.server
import sys
import threading
import urllib.parse

from chdb import session

sessions = {}


class Answers(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        sql = self.rfile.read(int(self.headers["Content-Length"])).decode()
        who = (self.headers["X-ClickHouse-User"], self.headers["X-ClickHouse-Key"], asked.get("database"))
        if who != ("reader", "secret", "profiles"):
            return self.answer(403, f"Code: 516. DB::Exception: {who[0]}: Authentication failed\n")
        try:
            if asked["session_id"] not in sessions:
                sessions[asked["session_id"]] = begun = session.Session()
                for name, value in asked.items():
                    if name not in ("session_id", "session_timeout", "wait_end_of_query", "database"):
                        begun.query(f"set {name} = {value}")
            self.answer(200, sessions[asked["session_id"]].query(sql, "TabSeparated").data())
        except Exception as error:
            self.answer(500, str(error))

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Answers)
print(server.server_port, flush=True)
# Ends with whoever started it.
threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
server.serve_forever()
