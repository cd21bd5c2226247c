//! Metrics for Prometheus, read directly and by Prometheus itself.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use bactrian_fixtures::{BOTH, Variant, program, whole_table};
use serde_json::Value;

use crate::run::{Running, live, until};

/// An observed program, and the address of its metrics.
struct Served {
    live: Running,
    address: String,
}

impl Served {
    fn start() -> Served {
        let path = program("steady", BOTH[0], Variant::Plain);
        let mut command = live(["--json", "--rate", "0", "--metrics", "127.0.0.1:0", "--"]);
        command.arg(&path).args(["600", "idle"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut live = Running(command.spawn().expect("it starts"));
        let mut said = BufReader::new(live.0.stderr.take().expect("a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("the address");
        let (_, rest) = line.split_once("http://").expect("an address");
        let (address, _) = rest.split_once("/metrics").expect("an address");
        Served { live, address: address.to_owned() }
    }

    /// The program gets the signals that live gets, and both exit.
    fn end(mut self) {
        let pid = self.live.0.id().to_string();
        assert!(Command::new("kill").arg(&pid).status().is_ok_and(|status| status.success()));
        until("the end", || self.live.0.try_wait().expect("a child"));
    }
}

/// The response, if anything listens.
pub fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

#[test]
fn metrics_are_served_over_http() {
    let served = Served::start();
    let text = until("the heap's size", || {
        get(&served.address, "/metrics").filter(|it| it.contains("\nbactrian_runtime_heap_bytes "))
    });
    for name in [
        "bactrian_up{program=\"steady\"",
        "bactrian_process_rss_bytes ",
        "bactrian_runtime_minor_collections_total ",
    ] {
        assert!(text.contains(&format!("\n{name}")), "no {name} in {text}");
    }
    served.end();
}

/// The real Prometheus, with ten programs, or a hundred in the whole table.
#[test]
fn prometheus_reads_all_programs_and_notices_exits() {
    let count = if whole_table() { 100 } else { 10 };
    let mut served: Vec<_> = (0..count).map(|_| Served::start()).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let targets: Vec<_> = served.iter().map(|it| format!("'{}'", it.address)).collect();
    let config = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: programs\n  static_configs:\n  - targets: [{}]\n",
        targets.join(", ")
    );
    fs::write(folder.path().join("prometheus.yml"), config).expect("written");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    drop(listener);
    let mut command = Command::new("prometheus");
    command.arg("--config.file=prometheus.yml").arg("--storage.tsdb.path=data");
    command.arg(format!("--web.listen-address={address}")).current_dir(folder.path());
    let prometheus = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _prometheus = Running(prometheus.expect("scripts/setup installs it"));
    // The value of an expression.
    let number = |expression: &str| {
        let expression = expression.replace(' ', "%20").replace('=', "%3D");
        let text = get(&address, &format!("/api/v1/query?query={expression}"))?;
        let body: Value = serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()?;
        body["data"]["result"][0]["value"][1].as_str()?.parse::<usize>().ok()
    };
    let reaches = |expression: &str, expected: usize| {
        until(expression, || (number(expression)? == expected).then_some(()));
    };
    reaches("count(up==1)", count);
    reaches("count(bactrian_up==1)", count);
    reaches("count(bactrian_runtime_heap_bytes)", count);
    // Prometheus counts samples that it does not understand or receives twice.
    assert_eq!(
        number("sum(scrape_samples_scraped) - sum(scrape_samples_post_metric_relabeling)"),
        Some(0)
    );
    served.drain(..count / 2).for_each(Served::end);
    reaches("count(up==1)", count / 2);
    served.into_iter().for_each(Served::end);
}
