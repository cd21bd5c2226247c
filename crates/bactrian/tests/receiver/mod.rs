//! A server of profiles that keeps what it is sent, and independent readers of that.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use bactrian_fleet::HttpClient;
use serde_json::Value;

/// What somebody has posted.
#[derive(Clone, Debug)]
pub struct Posted {
    /// The path with its parameters.
    pub target: String,
    /// The headers, in lower case.
    pub headers: String,
    pub body: Vec<u8>,
}

/// A client of HTTP that can do no more than these tests need.
pub struct PlainClient;

impl HttpClient for PlainClient {
    fn post(&self, url: &str, content_type: &str, body: &[u8]) -> io::Result<()> {
        let rest = url.strip_prefix("http://").ok_or(io::ErrorKind::InvalidInput)?;
        let (host, path) = rest.split_once('/').ok_or(io::ErrorKind::InvalidInput)?;
        let mut stream = TcpStream::connect(host)?;
        write!(
            stream,
            "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )?;
        stream.write_all(body)?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        match answer.contains(" 200 ") {
            true => Ok(()),
            false => Err(io::Error::other(answer)),
        }
    }
}

/// Listens on loopback until the test ends.
pub struct Receiver {
    address: String,
    posted: Arc<Mutex<Vec<Posted>>>,
}

impl Receiver {
    /// One that answers everything with this status.
    pub fn answering(status: &'static str) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let posted = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&posted);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let told = Arc::clone(&told);
                thread::spawn(move || serve(stream, status, &told));
            }
        });
        Receiver { address, posted }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn posted(&self) -> Vec<Posted> {
        self.posted.lock().expect("nobody failed").clone()
    }
}

/// Requests of one connection, one after the other.
fn serve(stream: TcpStream, status: &str, posted: &Mutex<Vec<Posted>>) -> Option<()> {
    let mut input = BufReader::new(stream.try_clone().ok()?);
    let mut output = stream;
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let target = line.strip_prefix("POST ")?.split(' ').next()?.to_owned();
        let mut headers = String::new();
        loop {
            let mut header = String::new();
            input.read_line(&mut header).ok()?;
            if header.trim().is_empty() {
                break;
            }
            headers += &header.to_lowercase();
        }
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length:"))?;
        let mut body = vec![0; length.trim().parse().ok()?];
        input.read_exact(&mut body).ok()?;
        posted.lock().ok()?.push(Posted { target, headers, body });
        write!(output, "HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nno").ok()?;
    }
}

/// What Go's pprof reads: the kinds of samples, the period and the sum of all values.
pub fn read_pprof(body: &[u8], folder: &Path) -> (String, u64, u64) {
    let file = folder.join("pushed.pb.gz");
    std::fs::write(&file, body).expect("room");
    let tools = std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask consumers sets it");
    let output = Command::new(Path::new(&tools).join("pprof")).arg("-raw").arg(&file).output();
    let output = output.expect("cargo xtask consumers gets it");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let period = text.lines().find_map(|line| line.strip_prefix("Period: "));
    let period = period.and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{text}"));
    let (_, samples) = text.split_once("\nSamples:\n").unwrap_or_else(|| panic!("{text}"));
    let (kinds, samples) = samples.split_once('\n').expect("lines");
    let (samples, _) = samples.split_once("Locations\n").expect("locations");
    let value = |line: &str| line.split_once(':')?.0.trim().parse::<u64>().ok();
    (kinds.trim().to_owned(), period, samples.lines().filter_map(value).sum())
}

/// What the classes of PyPI's opentelemetry-proto read.
pub fn read_otlp(body: &[u8], folder: &Path) -> Value {
    let file = folder.join("pushed.otlp");
    std::fs::write(&file, body).expect("room");
    let tools = std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask consumers sets it");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../consumers/otlp_profiles.py");
    let mut command = Command::new(Path::new(&tools).join("otlp/bin/python"));
    let output = command.arg(script).arg(&file).output().expect("cargo xtask consumers gets it");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}
