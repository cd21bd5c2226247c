//! A program written for Ocamlviz, with the original library and with ours, as displayed by the original
//! client.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Recipe, Variant};

use crate::programs::program;

const PATIENCE: Duration = Duration::from_secs(60);

/// The program linked with the original library.
pub fn original(name: &str) -> PathBuf {
    let arguments =
        format!("ocamlopt -w -58 -thread -package unix,ocamlviz -linkpkg {name}.ml -o original");
    let recipe = Recipe::new(format!("{name}-original")).source(&format!("{name}.ml"));
    recipe.step("ocamlfind", &arguments).build().join("original")
}

/// All that the original client shows of a program: values and states, by kind and name.
fn shown(program: &Path, is_ours: bool) -> BTreeMap<String, String> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port().to_string();
    drop(listener);
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(program);
    command
        .env("OCAMLVIZ_PORT", &port)
        .env("BACTRIAN_LIVE", "off")
        .args(is_ours.then_some("table"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("its output");
    BufReader::new(stdout).read_line(&mut line).expect("its output");
    assert_eq!(line, "ready\n");
    let deadline = Instant::now() + PATIENCE;
    // The client gives up if nobody listens yet. The original library listens before the program continues,
    // and stops sending if a client disconnects at once.
    while is_ours && TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        assert!(Instant::now() < deadline, "nobody listens");
        thread::sleep(Duration::from_millis(10));
    }
    let mut client = Command::new("ocamlviz-ascii");
    client.args(["-server", "127.0.0.1", "-port", &port, "-o", "log"]).current_dir(folder.path());
    let mut client = client
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("scripts/setup installs it");
    let shown = loop {
        let text = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        // The file is rewritten every second, so the last state may be incomplete.
        let whole: Vec<_> = text.split("\nGC:\n").skip(1).collect();
        if let [.., whole, _] = &whole[..] {
            let parsed = parse(whole);
            let waits =
                |kind: &str| parsed.get(kind).is_none_or(|value| value.contains("No_value"));
            if !waits("Value_int int_ref") && !waits("Tag_size tag") && !waits("Tag_size measured")
            {
                break parsed;
            }
        }
        assert!(Instant::now() < deadline, "{text}");
        thread::sleep(Duration::from_millis(50));
    };
    client.kill().and_then(|()| client.wait()).expect("it ran");
    drop(child.stdin.take());
    assert!(child.wait().expect("its end").success());
    shown
}

fn parse(text: &str) -> BTreeMap<String, String> {
    let mut kind = "";
    let mut parsed = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(title) = line.strip_suffix(':')
            && !line.starts_with('{')
        {
            kind = title;
        }
        let Some((_, rest)) = line.split_once(" name:") else { continue };
        let Some((name, rest)) = rest.split_once(" t:") else { continue };
        let Some((_, value)) = rest.split_once(" value:") else { continue };
        let more: Vec<_> =
            text.lines().skip(at + 1).take_while(|line| !line.starts_with('{')).collect();
        let value = match kind {
            "Tree" => more.iter().filter(|line| line.trim().starts_with('-')).copied().collect(),
            // The time of a line does not matter.
            "Log" => more.iter().filter_map(|line| Some(line.split_once(" : ")?.1)).collect(),
            "Time" => value.rsplit(' ').nth(1).unwrap_or_default().to_owned(),
            _ => value.to_owned(),
        };
        parsed.insert(format!("{kind} {name}"), value.trim().to_owned());
    }
    parsed
}

#[test]
fn original_client_shows_both_libraries_alike() {
    let mut expected = shown(&original("observe_compat"), false);
    // Our library does not know what the original counts for a killed tag: it was killed before a client
    // connected.
    expected.retain(|name, _| !name.ends_with(" dead tag"));
    assert!(expected.len() >= 27, "{expected:?}");
    for compiler in BOTH {
        let ours = shown(&program("observe_compat", compiler, Variant::Plain), true);
        for (name, value) in &expected {
            assert_eq!(ours.get(name), Some(value), "{compiler:?}: {name}");
        }
        assert_eq!(ours["Hash table"], "Hashtable (16 20 4 3 ) status:active }", "{compiler:?}");
        assert!(ours["Tag_count dead tag"].ends_with("status:killed }"), "{compiler:?}");
    }
}
