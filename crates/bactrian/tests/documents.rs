//! The book says what is true: the commands of its guides work and print what the text shows, and the reference of commands is what
//! `-h` prints.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn bactrian(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(words).stdin(Stdio::null()).env_remove("COLUMNS");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A command of a guide, and what the guide shows that it prints.
#[derive(Debug, Default)]
struct Step {
    command: String,
    shown: String,
}

impl Step {
    /// The exit status that the guide shows, if this is the command that prints it.
    fn status(&self) -> Option<i32> {
        (self.command == "echo $?").then(|| self.shown.trim().parse().expect("a status"))
    }

    /// Places in the source that the guide shows: `server.ml:12`, without columns.
    fn places(&self) -> impl Iterator<Item = &str> {
        self.shown.split_whitespace().filter_map(|word| {
            let word = word.trim_start_matches('(');
            let (file, rest) = word.split_once(".ml:")?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            Some(&word[..file.len() + ".ml:".len() + digits])
        })
    }
}

/// The commands in ```` ```console ```` blocks, in order.
fn steps(guide: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for line in guide.lines() {
        if let Some(language) = line.strip_prefix("```") {
            is_console = language == "console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) {
            steps.push(Step { command: command.to_owned(), shown: String::new() });
        } else if is_console && let Some(step) = steps.last_mut() {
            step.shown += line;
            step.shown += "\n";
        }
    }
    steps
}

/// Marks the end of what a command prints, and its status.
const END: &str = "@@ end of command, status ";

/// Runs the steps in one shell, in a folder that has the example's source.
fn follow(guide: &Path) {
    let name = guide.file_stem().and_then(|name| name.to_str()).expect("a name");
    let steps = steps(&fs::read_to_string(guide).expect("a guide"));
    assert!(steps.len() > 3, "{name} has no commands");
    let folder = bactrian_fixtures::own_folder(&format!("guide_{name}"));
    let source = bactrian_fixtures::repository().join("programs/leaky_cache.ml");
    fs::copy(source, folder.join("leaky_cache.ml")).expect("room");
    let mut script = "trap 'kill $(jobs -p) 2> /dev/null' EXIT\n".to_owned();
    for step in &steps {
        let command = &step.command;
        // The status of a command is printed by the next one in some guides: it has to find it.
        writeln!(script, "{{ {command}\n}} 2>&1; status=$?; echo \"{END}$status\"; (exit $status)")
            .expect("a text");
    }
    let tools = Path::new(env!("CARGO_BIN_EXE_bactrian")).parent().expect("a folder");
    let path = std::env::var("PATH").expect("a PATH");
    let Output { stdout, stderr, .. } = Command::new("bash")
        .args(["-c", &script])
        .current_dir(&folder)
        .env("PATH", format!("{}:{path}", tools.display()))
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    let (printed, complaints) = (text(&stdout), text(&stderr));
    let mut rest = printed.as_str();
    for (at, step) in steps.iter().enumerate() {
        let (said, after) = rest.split_once(END).unwrap_or_else(|| {
            panic!("{name}: {:?} did not end: {rest} {complaints}", step.command)
        });
        let (status, after) = after.split_once('\n').expect("a line");
        rest = after;
        let expected = steps.get(at + 1).and_then(Step::status).unwrap_or(0);
        assert_eq!(status, expected.to_string(), "{name}: {}\n{said}", step.command);
        for place in step.places() {
            assert!(said.contains(place), "{name}: {}: no {place} in\n{said}", step.command);
        }
    }
}

#[test]
fn commands_of_the_guides_work_and_name_the_lines_that_are_shown() {
    let folder = bactrian_fixtures::repository().join("docs/guide");
    let mut guides: Vec<_> =
        fs::read_dir(folder).expect("guides").map(|guide| guide.expect("a guide").path()).collect();
    guides.sort();
    assert_eq!(guides.len(), 5);
    if !bactrian_fixtures::whole_table() {
        // One has a server that goes on leaking meanwhile, the other writes a report: half a minute each in an
        // unoptimised build.
        guides.retain(|guide| !guide.ends_with("leak.md") && !guide.ends_with("first_look.md"));
    }
    guides.iter().for_each(|guide| follow(guide));
}

const REFERENCE_HEAD: &str = "# Commands

What `bactrian COMMAND -h` prints; `--help` has more about each option. `bactrian man FOLDER` writes man pages, `bactrian completions SHELL` prints completions for a shell.

Generated by `UPDATE_GOLDEN=1 cargo test -p bactrian --test documents`; do not edit.
";

/// Appends the help of a command and of those below it.
fn describe(words: &[&str], reference: &mut String) {
    let output = bactrian(&[words, &["-h"]].concat()).output().expect("bactrian starts");
    let help = text(&output.stdout);
    assert!(output.status.success(), "{words:?}");
    let level = "#".repeat(1 + words.len().max(1));
    let title = [&["bactrian"], words].concat().join(" ");
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    writeln!(reference, "\n{level} {title}\n\n```text\n{}\n```", lines.join("\n").trim_end())
        .expect("a text");
    let below = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in below.take_while(|line| !line.is_empty()) {
        // Names are indented by two; what is indented more is the rest of a sentence.
        let Some(name) = line.strip_prefix("  ").filter(|name| !name.starts_with(' ')) else {
            continue;
        };
        let name = name.split_whitespace().next().expect("a name");
        if name != "help" {
            describe(&[words, &[name]].concat(), reference);
        }
    }
}

#[test]
fn the_reference_of_commands_is_what_help_prints() {
    let mut reference = REFERENCE_HEAD.to_owned();
    describe(&[], &mut reference);
    let path = bactrian_fixtures::repository().join("docs/commands.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &reference).expect("a writable checkout");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == reference, "docs/commands.md is old: UPDATE_GOLDEN=1 writes it anew");
}

/// Each command as the reference has it, with its help.
fn described(reference: &str) -> impl Iterator<Item = (&str, &str)> {
    reference.split("\n## bactrian ").skip(1).flat_map(|part| part.split("\n### bactrian ")).map(
        |part| {
            let (command, help) = part.split_once('\n').expect("a title");
            (command.trim(), help)
        },
    )
}

#[test]
fn json_of_each_command_is_documented() {
    let docs = bactrian_fixtures::repository().join("docs");
    let read = |name: &str| fs::read_to_string(docs.join(name)).expect("a document");
    let (reference, json, questions) = (read("commands.md"), read("json.md"), read("questions.md"));
    let (without_json, _) = json.split_once("It prints one object").expect("the list");
    let mut commands = 0;
    for (command, help) in described(&reference) {
        let prints_json = help.contains("--json ") || help.contains("--json\n");
        if help.contains("\nCommands:") && !prints_json {
            continue;
        }
        let is_described = json.lines().any(|line| {
            line.strip_prefix("| ").is_some_and(|row| {
                row.split('|').next().is_some_and(|cell| cell.contains(&format!("`{command}`")))
            })
        }) || json.contains(&format!("`{command} --json` prints"))
            || questions.contains(&format!("(`bactrian {command}`)"));
        let is_excepted = without_json.contains(&format!("`{command}`"));
        assert_eq!(
            (is_described, is_excepted),
            (prints_json, !prints_json),
            "{command}: docs/json.md has its fields, or names it among those without"
        );
        commands += 1;
    }
    assert!(commands > 40, "{commands}");
}
