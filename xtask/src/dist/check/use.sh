# Uses an installed bactrian in a bare root file system, as on a first day, without any build tools.
for tool in cargo rustc; do
    if command -v "$tool" >/dev/null; then
        echo "$tool is installed: this root file system is not bare" >&2
        exit 1
    fi
done
mkdir -p /tmp/work
cd /tmp/work
cp /program/leaky_cache .
expect() { grep -q "$1" "$2" || { echo "no \"$1\" in $2:" >&2; cat "$2" >&2; exit 1; }; }

bactrian --version
bactrian doctor ./leaky_cache >doctor
cat doctor
bactrian record --rate 1e-3 -o server.ctf -- ./leaky_cache 20000 >said
bactrian top server.ctf --metric live --by site >top
expect leaky_cache.ml top

# Takes a snapshot of a running program, which must survive.
./leaky_cache 100000000 >/dev/null &
server=$!
sleep 1
bactrian snapshot "$server" -o server.heap
kill -0 "$server"
kill "$server"
bactrian heap roots server.heap >roots
expect Leaky_cache roots

bactrian report server.ctf server.heap -o report.html
expect '<html' report.html
test "$(wc -c <report.html)" -gt 100000
