//! What cannot be observed is reported, with what to do.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::thread;

use bactrian_fixtures::{BOTH, Variant, program};
use bactrian_live::wire::{self, Reply};

use crate::run::live;

fn refused(arguments: &[&str], status: i32) -> String {
    let output = live(arguments).output().expect("it runs");
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn invalid_target_error_lists_possible_targets() {
    assert!(refused(&["./nothing-there"], 2).contains("bactrian live -- ./nothing-there"));
    assert!(refused(&["4194304"], 3).contains("there is no process 4194304"));
    assert!(refused(&["--for", "5 parsecs", "1"], 2).contains("not a unit of time"));
    assert!(refused(&["--for", "0", "1"], 2).contains("too short or too long"));
    assert!(refused(&["--rate", "2", "--", "/bin/true"], 2).contains("not a rate from 0 to 1"));
    assert!(refused(&["--", "/no/such/program"], 3).contains("/no/such/program"));
    assert!(refused(&["--", "/bin/true"], 4).contains("OCaml"));
    assert!(refused(&["1", "4194304"], 3).contains("there is no process 4194304"));
    assert!(refused(&["1", "localhost:1"], 2).contains("only processes"));
    assert!(refused(&["--children"], 2).contains("--children needs a process"));
    assert!(refused(&["--all", "--record", "x.live"], 2).contains("one program"));
}

#[test]
fn nothing_is_started_if_it_cannot_be_recorded_or_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = program("exits", BOTH[0], Variant::Plain);
    for wish in [["--record", "/no/such/folder/run.live"], ["--metrics", "nowhere"]] {
        let output = live(wish)
            .arg("--")
            .arg(&path)
            .arg("end")
            .current_dir(folder.path())
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(output.stdout.is_empty(), "the program has not run: {output:?}");
    }
}

#[test]
fn files_that_are_no_recordings_are_refused_and_cut_ones_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    let shown = path.to_string_lossy().into_owned();
    fs::write(&path, "not at all").expect("written");
    assert!(refused(&[&shown], 3).contains("not a recording"));
    assert!(refused(&["--record", &shown, &shown], 2).contains("would overwrite"));
    assert_eq!(fs::read(&path).expect("still there"), b"not at all");
    fs::write(&path, b"bactrian live 1\n\x02\0\0\0\x05").expect("written");
    let output = live([&shown]).output().expect("it runs");
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("is truncated"), "{output:?}");
    fs::write(&path, b"bactrian live 1\n\xFF\xFF\xFF\xFF\x05").expect("written");
    let output = live([&shown]).output().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("damaged"), "{output:?}");
}

#[test]
fn server_of_another_protocol_is_refused_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.and_then(|mut it| it.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }
    });
    assert!(refused(&["--json", "--for", "60s", &address], 3).contains("uses neither"));
}

#[test]
fn refused_client_gets_the_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let mut refusal = Vec::new();
    wire::put_reply(&mut refusal, &Reply::Refused("the token is wrong".into()));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.and_then(|mut it| it.write_all(&refusal));
        }
    });
    let said = refused(&["--for", "60s", "--token", "guessed", &address], 3);
    assert!(said.contains("the program says: the token is wrong"), "{said}");
}
