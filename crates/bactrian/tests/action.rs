//! The GitHub Action, without GitHub: runs the steps of `action/action.yml` in order, in the same shell, with the inputs and
//! files that a runner would provide.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bactrian_fixtures::{Compiler, Variant, own_folder, program, repository};

/// A step of the file.
#[derive(Debug, Default)]
struct Step {
    name: String,
    run: String,
    /// Variables and the inputs that they get.
    env: Vec<(String, String)>,
}

/// Parses the subset of YAML that our file uses: defaults of inputs, and steps of one line each.
fn read(text: &str) -> (BTreeMap<String, String>, Vec<Step>) {
    let (mut inputs, mut steps) = (BTreeMap::new(), Vec::<Step>::new());
    let mut input = String::new();
    let (head, body) = text.split_once("\nruns:\n").expect("it has steps");
    let head = head.split_once("\ninputs:\n").expect("it has inputs").1;
    let head = head.split_once("\noutputs:\n").expect("it has outputs").0;
    for line in head.lines() {
        if let Some(name) = line.strip_prefix("  ").filter(|line| !line.starts_with(' ')) {
            input = name.trim_end_matches(':').to_owned();
        } else if let Some(value) = line.trim().strip_prefix("default: ") {
            inputs.insert(input.clone(), value.trim_matches('"').to_owned());
        }
    }
    for line in body.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("- name: ") {
            steps.push(Step { name: name.to_owned(), ..Step::default() });
            continue;
        }
        let Some(step) = steps.last_mut() else { continue };
        if let Some(run) = line.strip_prefix("run: ") {
            step.run = run.to_owned();
        } else if let Some((name, rest)) = line.split_once(": ${{ inputs.") {
            let input = rest.strip_suffix(" }}").expect("an expression ends");
            step.env.push((name.to_owned(), input.to_owned()));
        }
    }
    (inputs, steps)
}

/// The results of a job.
struct Job {
    folder: PathBuf,
    /// The step that failed, and its output.
    failed: Option<String>,
    said: String,
}

impl Job {
    fn run(folder: &Path, with: &[(&str, &str)]) -> Job {
        let action = repository().join("action");
        let text = fs::read_to_string(action.join("action.yml")).expect("the action");
        let (mut inputs, steps) = read(&text);
        assert_eq!(steps.len(), 4, "{steps:?}");
        for (name, value) in with {
            inputs.insert((*name).to_owned(), (*value).to_owned());
        }
        let built = Path::new(env!("CARGO_BIN_EXE_bactrian")).parent().expect("a folder");
        let path = std::env::var("PATH").expect("a PATH");
        let mut job = Job { folder: folder.to_path_buf(), failed: None, said: String::new() };
        for step in steps {
            let mut bash = Command::new("bash");
            bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.run]);
            bash.current_dir(folder).env("GITHUB_ACTION_PATH", &action);
            bash.env("PATH", format!("{}:{path}", built.display())).env("RUNNER_TEMP", folder);
            for file in ["GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"] {
                bash.env(file, folder.join(file));
            }
            for (variable, input) in &step.env {
                bash.env(variable, inputs.get(input).expect("the action has such an input"));
            }
            let output = bash.output().expect("bash is there");
            job.said += &String::from_utf8_lossy(&output.stdout);
            job.said += &String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                job.failed = Some(step.name);
                break;
            }
        }
        job
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }
}

fn command(requests: u32) -> String {
    format!("{} {requests}", program("leaky_cache", Compiler::OCaml4, Variant::Plain).display())
}

#[test]
fn the_action_records_and_writes_a_summary() {
    let folder = own_folder("action-records");
    let job = Job::run(&folder, &[("command", &command(2000)), ("rate", "1e-3")]);
    assert_eq!(job.failed, None, "{}", job.said);
    assert!(folder.join("bactrian.ctf").exists());
    assert!(job.file("GITHUB_STEP_SUMMARY").contains("leaky_cache.ml"), "{}", job.said);
    assert_eq!(job.file("GITHUB_OUTPUT"), "trace=bactrian.ctf\npassed=true\n");
}

#[test]
fn growth_over_the_baseline_fails_the_action() {
    let folder = own_folder("action-fails");
    let baseline = [("trace", "main.ctf"), ("rate", "1e-2"), ("baseline", "none.ctf")];
    let first = Job::run(&folder, &[&[("command", &*command(500))], &baseline[..]].concat());
    assert_eq!(first.failed, None, "{}", first.said);
    assert!(
        first.said.contains("::notice::the baseline none.ctf does not exist yet"),
        "{}",
        first.said
    );
    let grown = [("rate", "1e-2"), ("baseline", "main.ctf"), ("fail-above", "50%")];
    let second = Job::run(&folder, &[&[("command", &*command(4000))], &grown[..]].concat());
    assert_eq!(second.failed.as_deref(), Some("Check"), "{}", second.said);
    assert!(second.said.contains("::error"), "{}", second.said);
    assert!(second.file("GITHUB_OUTPUT").ends_with("passed=false\n"));
    assert!(second.file("GITHUB_STEP_SUMMARY").contains("failed"));
}

#[test]
fn a_failing_program_fails_the_step() {
    let folder = own_folder("action-status");
    let quoted = "/bin/sh -c 'exit \"$1\"' sh 7";
    let job = Job::run(&folder, &[("command", quoted)]);
    assert_eq!(job.failed.as_deref(), Some("Record"), "{}", job.said);
}
