//! The command line as people and scripts see it.
//!
//! Golden files contain a command's output and exit status; `UPDATE_GOLDEN=1 cargo test` rewrites them.

mod golden;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Commands run here, so that golden files name fixtures by their file name.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures")
}

fn bactrian(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(args).current_dir(fixtures()).env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    bactrian(args).output().expect("bactrian starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A damaged copy of a fixture.
fn damaged(folder: &Path, name: &str, harm: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let mut bytes = std::fs::read(fixtures().join("leaky_cache_v2.ctf")).expect("a fixture");
    harm(&mut bytes);
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("room in the temporary folder");
    path
}

fn parse(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn commands_print_what_the_golden_files_hold() {
    let table: &[(&str, &str)] = &[
        ("info", "info leaky_cache_v2.ctf"),
        ("info_full", "info --full leaky_cache_v2.ctf"),
        ("info_exact", "info --full every_word_v2.ctf"),
        ("top", "top leaky_cache_v2.ctf -n 8"),
        ("top_live_sites", "top leaky_cache_v2.ctf --by site --metric live -n 6"),
        ("top_lines", "top leaky_cache_v2.ctf --by line -n 5"),
        ("top_instructions_of_native_code", "top leaky_cache_v2.ctf --by instruction -n 3"),
        (
            "annotate",
            "annotate ../../../../programs/leaky_cache.ml --profile leaky_cache_v2.ctf --metric live",
        ),
        ("annotate_another", "annotate README.md --profile leaky_cache_v2.ctf"),
        ("top_modules_promoted", "top leaky_cache_v2.ctf --by module --metric promoted"),
        ("top_exact_objects", "top every_word_v2.ctf --by file --metric objects"),
        ("top_hidden", "top leaky_cache_v2.ctf --hide /^(Stdlib|Caml)/ --sort total"),
        ("top_peak_filtered", "top bytecode_v2.ctf --metric peak --in /serve/ --size 16.. -n 5"),
        ("paths", "paths leaky_cache_v2.ctf --metric allocated -n 2 --frames 3"),
        ("tree", "tree leaky_cache_v2.ctf --min-share 5"),
        ("tree_callers", "tree leaky_cache_v2.ctf List.map --raw --callers --sites"),
        ("tree_nobody", "tree leaky_cache_v2.ctf Nobody.at_all"),
        ("timeline", "timeline leaky_cache_v2.ctf --points 60"),
        ("timeline_filtered", "timeline leaky_cache_v2.ctf --points 60 --lifetime 5ms.."),
        ("timeline_csv", "timeline leaky_cache_v2.ctf --points 5 --csv --heap minor"),
        ("lifetimes", "lifetimes leaky_cache_v2.ctf --sort never -n 5"),
        ("sizes", "lifetimes leaky_cache_v2.ctf --sizes --by module"),
        ("info_filtered", "info --full leaky_cache_v2.ctf --never-collected"),
        ("info_needs_full", "info leaky_cache_v2.ctf --never-collected"),
        ("diff", "diff leaky_cache_v2.ctf bytecode_v2.ctf -n 6"),
        ("diff_same", "diff leaky_cache_v2.ctf leaky_cache_v2.ctf -n 3"),
        ("check_passed", "check leaky_cache_v2.ctf --max-live 10MB --max-allocated 1GB"),
        ("check_failed", "check leaky_cache_v2.ctf --max-live 1MB --max-allocated 42MB"),
        ("check_baseline", "check leaky_cache_v2.ctf --baseline bytecode_v2.ctf --fail-above 10%"),
        ("check_nothing", "check leaky_cache_v2.ctf"),
        ("dump", "dump leaky_cache_v2.ctf --allocated ..2ms --size 64.. --depth 2"),
        ("export_folded", "export every_word_v2.ctf --to folded"),
        ("missing_file", "top no_such.ctf"),
        ("not_a_trace", "info ../../Cargo.toml"),
        ("a_folder", "info ."),
        ("bad_range", "top leaky_cache_v2.ctf --size 5kB..1kB"),
        ("bad_regex", "top leaky_cache_v2.ctf --in /(/"),
    ];
    golden::check("", table, |line| run(&line.split(' ').collect::<Vec<_>>()));
}

#[test]
fn damage_is_reported_and_an_error_with_strict() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cut = damaged(folder.path(), "cut.ctf", |bytes| bytes.truncate(30_000));
    let path = cut.to_str().expect("UTF-8");
    for command in ["top", "tree", "timeline", "lifetimes", "dump", "info"] {
        let output = run(&[command, path]);
        assert!(output.status.success(), "{command}");
        assert!(text(&output.stderr).contains("bytes missing from packets"), "{command}");
        let strict = run(&[command, path, "--strict"]);
        assert_eq!(strict.status.code(), Some(3), "{command}");
        assert!(text(&strict.stderr).contains("is damaged, first at byte"), "{command}");
    }
    let json = parse(&run(&["info", "--full", "--json", path]));
    let losses = &json["files"][0]["losses"];
    assert_eq!(losses["clean"], false);
    let lost = losses["allocations"].as_u64().expect("a number");
    let read = json["result"]["contents"]["minor"].as_u64().expect("a number");
    assert_eq!(read + lost, json["result"]["sampled_allocations"].as_u64().expect("a number"));
}

#[test]
fn pipe_works_like_a_file() {
    let bytes = std::fs::read(fixtures().join("leaky_cache_v2.ctf")).expect("a fixture");
    for command in ["info", "top", "timeline"] {
        let mut child = bactrian(&[command, "-", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bactrian starts");
        child.stdin.take().expect("a pipe").write_all(&bytes).expect("bactrian reads");
        let piped = parse(&child.wait_with_output().expect("bactrian ends"));
        let read = parse(&run(&[command, "leaky_cache_v2.ctf", "--json"]));
        assert_eq!(piped["result"], read["result"], "{command}");
    }
}

#[test]
fn closed_output_pipe_is_no_error() {
    let mut child = bactrian(&["dump", "leaky_cache_v2.ctf"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bactrian starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("bactrian ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn finding_sets_the_status_even_if_output_is_closed() {
    for args in [
        &["check", "leaky_cache_v2.ctf", "--max-live", "1"][..],
        &["diff", "leaky_cache_v2.ctf", "bytecode_v2.ctf", "-n", "0"],
    ] {
        let mut child = bactrian(args).stdout(Stdio::piped()).spawn().expect("bactrian starts");
        drop(child.stdout.take());
        assert_eq!(child.wait().expect("bactrian ends").code(), Some(1), "{args:?}");
    }
}

#[test]
fn a_check_does_not_pass_what_it_cannot_see() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cut = damaged(folder.path(), "cut.ctf", |bytes| bytes.truncate(30_000));
    let json =
        parse(&run(&["check", "--json", cut.to_str().expect("UTF-8"), "--max-allocated", "1GB"]));
    assert_eq!(json["result"]["checks"][0]["verdict"], "undecided");
    let nothing = run(&["check", "leaky_cache_v2.ctf", "--max-live", "1GB", "--in", "Typo.here"]);
    assert_eq!(nothing.status.code(), Some(3));
}

#[test]
fn filters_that_admit_nothing_cause_a_warning() {
    for command in ["top", "tree", "timeline", "lifetimes"] {
        let output = run(&[command, "leaky_cache_v2.ctf", "--in", "Typo.here"]);
        assert!(output.status.success(), "{command}");
        assert!(text(&output.stderr).contains("no sampled object"), "{command}");
    }
}

#[test]
fn every_answer_is_json_on_demand() {
    let commands: &[&[&str]] = &[
        &["info", "--full", "leaky_cache_v2.ctf"],
        &["top", "leaky_cache_v2.ctf"],
        &["tree", "leaky_cache_v2.ctf"],
        &["timeline", "leaky_cache_v2.ctf"],
        &["lifetimes", "leaky_cache_v2.ctf"],
        &["diff", "leaky_cache_v2.ctf", "bytecode_v2.ctf"],
        &["check", "leaky_cache_v2.ctf", "--max-live", "1GB"],
    ];
    for command in commands {
        let json = parse(&run(&[command, &["--json"][..]].concat()));
        assert_eq!((&json["schema_version"], &json["command"]), (&2.into(), &command[0].into()));
        assert_eq!(json["files"][0]["losses"]["clean"], true);
        assert!(json["result"].is_object());
    }
}

#[test]
fn numbers_agree_between_commands() {
    let info = parse(&run(&["info", "--full", "--json", "leaky_cache_v2.ctf"]));
    let contents = &info["result"]["contents"];
    let all = |metric: &str| {
        let args = ["top", "leaky_cache_v2.ctf", "--json", "--metric", metric];
        parse(&run(&args))["result"]["all"].clone()
    };
    assert_eq!(contents["allocated"], all("allocated"));
    assert_eq!(contents["peak"], all("peak"));
    assert_eq!(contents["live_at_end"], all("live"));
    let timeline = parse(&run(&["timeline", "--json", "leaky_cache_v2.ctf"]));
    assert_eq!(contents["peak"], timeline["result"]["all"]["peak"]);
    let tree = parse(&run(&["tree", "--json", "leaky_cache_v2.ctf"]));
    // The default metric is what is live at the end: that is not much less than the peak here.
    assert_eq!(contents["live_at_end"], tree["result"]["tree"]["all"]);
}

#[test]
fn convert_without_options_gives_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out.ctf");
    for name in ["leaky_cache_v2.ctf", "every_word_v2.ctf", "bytecode_v2.ctf"] {
        let output = run(&["convert", name, "-o", out.to_str().expect("UTF-8")]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let [before, after] = [fixtures().join(name), out.clone()].map(std::fs::read);
        assert_eq!(before.expect("a fixture"), after.expect("our output"), "{name}");
    }
}

#[test]
fn convert_repairs_damaged_traces() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cut = damaged(folder.path(), "cut.ctf", |bytes| bytes.truncate(30_000));
    let mended = folder.path().join("mended.ctf");
    let [from, to] = [&cut, &mended].map(|path| path.to_str().expect("UTF-8"));
    assert!(run(&["convert", from, "-o", to]).status.success());
    assert!(run(&["top", to, "--strict"]).status.success());
    let [before, after] =
        [from, to].map(|path| parse(&run(&["top", "--json", path]))["result"].clone());
    assert_eq!(before, after);
}

#[test]
fn a_strict_convert_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cut = damaged(folder.path(), "cut.ctf", |bytes| bytes.truncate(30_000));
    let out = folder.path().join("out.ctf");
    let [from, to] = [&cut, &out].map(|path| path.to_str().expect("UTF-8"));
    assert_eq!(run(&["convert", from, "-o", to, "--strict"]).status.code(), Some(3));
    assert!(!out.exists());
    assert_eq!(run(&["convert", from, "-o", to, "--hide", "main"]).status.code(), Some(2));
}

#[test]
fn convert_applies_its_options() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let convert = |options: &[&str]| {
        let out = folder.path().join("out.ctf");
        let out = out.to_str().expect("UTF-8");
        let output = run(&[&["convert", "leaky_cache_v2.ctf", "-o", out], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        parse(&run(&["info", "--full", "--json", "--strict", out]))["result"].clone()
    };
    assert_eq!(convert(&["--to", "v3"])["format_version"], 3);
    let fewer = convert(&["--subsample", "1e-4"]);
    assert_eq!(fewer["sample_rate"], 1e-4);
    let count = fewer["sampled_allocations"].as_u64().expect("a number");
    // A fifth of 2,628, give or take four standard deviations.
    assert!((440..=615).contains(&count), "{count}");
    let window = convert(&["--window", "10ms..20ms"]);
    let events = window["contents"]["peak_time"].as_f64().expect("a number");
    assert!((0.010..=0.020).contains(&events), "{events}");
    let bare = convert(&["--strip-names"]);
    assert_eq!((&bare["program"], &bare["host"]), (&"".into(), &"".into()));
}

#[test]
fn files_are_private_and_whole() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("flame.svg");
    let path = out.to_str().expect("UTF-8");
    assert!(run(&["flame", "leaky_cache_v2.ctf", "-o", path]).status.success());
    assert_eq!(out.metadata().expect("our output").permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&out).expect("text").trim_end().ends_with("</svg>"));
    let nowhere = folder.path().join("no/such/folder/flame.svg");
    let output = run(&["flame", "leaky_cache_v2.ctf", "-o", nowhere.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("cannot write"));
}

#[test]
fn names_cannot_control_the_terminal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let hostile = damaged(folder.path(), "hostile.ctf", |bytes| {
        // The program's name, with the same length, containing an escape sequence.
        let at = bytes.windows(11).position(|w| w == b"leaky_cache").expect("the program's name");
        bytes[at..at + 5].copy_from_slice(b"\x1b[31m");
    });
    let output = run(&["info", hostile.to_str().expect("UTF-8")]);
    assert!(output.status.success());
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn help_completions_and_man_pages_know_every_command() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("UTF-8");
    assert!(run(&["man", path]).status.success());
    let help = text(&run(&["--help"]).stdout);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<_> = commands
        .take_while(|line| !line.is_empty())
        // Lines that are indented more continue a sentence.
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.len() >= 13, "{commands:?}");
    let completions = text(&run(&["completions", "bash"]).stdout);
    for command in commands {
        assert!(folder.path().join(format!("bactrian-{command}.1")).exists(), "{command}");
        assert!(completions.contains(command), "{command}");
        let help = text(&run(&[command, "--help"]).stdout);
        assert!(help.contains("Example"), "{command} --help has no example");
    }
}

#[test]
fn a_flame_graph_of_two_traces_shows_what_changed() {
    let picture = |files: &[&str]| {
        let mut arguments = vec!["flame"];
        arguments.extend(files);
        arguments.extend(["--output", "-", "--metric", "allocated"]);
        let output = run(&arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let both = picture(&["leaky_cache_v2.ctf", "bytecode_v2.ctf"]);
    assert!(both.contains("Red grew, blue shrank") && both.contains("before: "), "{both}");
    let same = picture(&["leaky_cache_v2.ctf", "leaky_cache_v2.ctf"]);
    assert!(same.contains("changed insignificantly") && same.contains("change: +0"), "{same}");
    assert!(!picture(&["leaky_cache_v2.ctf"]).contains("Red grew"));
}

/// `ulimit -u` counts threads, and does not hold for root.
#[test]
fn commands_do_with_the_threads_that_there_can_be() {
    if !bactrian_fixtures::is_root() {
        // Bypasses the test's output capture, so that nobody thinks that it ran.
        std::io::stderr().write_all(b"NOT TESTED: limits of processes: it needs root\n").ok();
        return;
    }
    // Nobody else's: all processes of a user count.
    const SOMEBODY: &str = "12346";
    let folder = tempfile::tempdir().expect("room");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), open).expect("it is ours");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let packed = include_bytes!("../demo/leaky_cache.1.heap.gz");
    let heap = std::fs::File::create(path("a.heap")).expect("room");
    std::io::copy(&mut flate2::read::GzDecoder::new(&packed[..]), &mut { heap }).expect("room");
    std::fs::copy(fixtures().join("leaky_cache_v2.ctf"), path("a.ctf")).expect("room");
    for command in [
        "heap suspects a.heap",
        "export a.heap --to hprof -o a.hprof",
        "report a.heap -o a.html",
        "report a.ctf -o a.html",
    ] {
        for processes in 1..=6 {
            let limit = format!("--nproc={processes}");
            let words = ["--reuid", SOMEBODY, "--regid", SOMEBODY, "--clear-groups", "prlimit"];
            let mut limited = Command::new("setpriv");
            limited.args(words).arg(limit).arg(env!("CARGO_BIN_EXE_bactrian"));
            limited.args(command.split(' ')).current_dir(folder.path());
            let output = limited.env("XDG_CACHE_HOME", folder.path()).output().expect("setpriv");
            let said = text(&output.stderr);
            let cell = format!("{command}, {processes} processes: {output:?}");
            match output.status.code() {
                Some(3) if processes == 1 => {
                    assert!(said.contains("cannot start a thread"), "{cell}");
                }
                status => {
                    assert_eq!((status, said.contains("panicked")), (Some(0), false), "{cell}")
                }
            }
            for made in ["a.hprof", "a.html"] {
                // Those that this command does not make are not there.
                let _ = std::fs::remove_file(path(made));
            }
        }
    }
}
