//! Programs that run with or without a connected client.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use xtask::Outcome;

/// The number of starts over which the start time is averaged.
const STARTS: u32 = 200;

fn failed<E: std::fmt::Display>(program: &Path) -> impl Fn(E) -> String {
    move |error| format!("{}: {error}", program.display())
}

fn start(program: &Path, arguments: &[&str], port: u16) -> Result<Child, String> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("OCAMLVIZ_PORT", port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command.stderr(Stdio::null()).spawn().map_err(failed(program))
}

/// A port without a listener.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

/// The output of a program until it ends; None if it crashes.
pub fn said(
    program: &Path,
    arguments: &[&str],
    is_watched: bool,
) -> Result<Option<String>, String> {
    let port = free_port()?;
    let mut child = start(program, arguments, port)?;
    if is_watched {
        thread::spawn(move || watch(port));
    }
    let mut said = String::new();
    let mut stdout = child.stdout.take().ok_or("no output")?;
    stdout.read_to_string(&mut said).map_err(failed(program))?;
    let status = child.wait().map_err(failed(program))?;
    Ok(status.success().then_some(said))
}

/// Connects as soon as there is a listener, and reads until the end.
fn watch(port: u16) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            let mut bytes = vec![0; 64 << 10];
            while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The time from a program's start to its end, in seconds.
pub fn start_and_end(program: &Path) -> Result<f64, String> {
    let begin = Instant::now();
    for _ in 0..STARTS {
        let status = Command::new(program).status().map_err(failed(program))?;
        if !status.success() {
            return Err(format!("{} failed ({status})", program.display()));
        }
    }
    Ok(begin.elapsed().as_secs_f64() / f64::from(STARTS))
}

/// How often the server's thread wakes up if no client is connected.
pub fn nobody(program: &Path) -> Outcome {
    let mut child = start(program, &["idle"], free_port()?)?;
    let mut stdout = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut line = String::new();
    stdout.read_line(&mut line).map_err(failed(program))?;
    thread::sleep(Duration::from_millis(500));
    let before = switches(child.id()).map_err(failed(program))?;
    thread::sleep(Duration::from_secs(5));
    let after = switches(child.id()).map_err(failed(program))?;
    drop(child.stdin.take());
    child.wait().map_err(failed(program))?;
    println!(
        "nobody watches for 5 s: {} context switches of {} threads of ours",
        after.0 - before.0,
        after.1
    );
    Ok(())
}

/// Context switches of the threads that belong to the library, and the number of these threads.
fn switches(pid: u32) -> std::io::Result<(u64, usize)> {
    let (mut switches, mut threads) = (0, 0);
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let task = task?.path();
        if !fs::read_to_string(task.join("comm"))?.starts_with("bactrian") {
            continue;
        }
        threads += 1;
        for line in fs::read_to_string(task.join("status"))?.lines() {
            if let Some((name, count)) = line.split_once(':')
                && name.ends_with("ctxt_switches")
            {
                switches += count.trim().parse::<u64>().unwrap_or(0);
            }
        }
    }
    Ok((switches, threads))
}
