//! The web page: builds it into `ui/dist`, where a build without node finds it, and checks its types, its unit
//! tests, and the whole page in a real browser on freshly recorded files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::command::{root, succeed};
use crate::test::binaries;

#[path = "../../crates/web/sources.rs"]
mod sources;

pub fn run(arguments: &[String]) -> Outcome {
    let (browser, only): (bool, &[String]) = match arguments {
        [word] if word == "--build" => return build(),
        [word] if word == "--types" => return Page::new()?.write_types(),
        [word] if word == "--sheet" => return Page::new()?.write_sheet(),
        [word] if word == "--fixtures" => (false, &[]),
        files if !files.iter().any(|file| file.starts_with('-')) => (true, files),
        _ => {
            return Err(
                "takes nothing, --build, --types, --fixtures, --sheet, or test files of ui/tests"
                    .to_owned(),
            );
        }
    };
    if browser && only.is_empty() {
        check_built()?;
    }
    let page = Page::new()?;
    page.make_fixtures()?;
    if !browser {
        println!("{}", page.fixtures.display());
        return Ok(());
    }
    page.check(only)
}

/// Builds the page into `ui/dist`.
fn build() -> Outcome {
    let ui = root().join("ui");
    sources::build(&ui, &ui.join("dist"))?;
    let digest = sources::digest(&ui).map_err(|error| format!("ui: {error}"))?;
    let path = ui.join("dist").join(sources::BUILT_FROM);
    fs::write(&path, digest).map_err(|error| format!("{}: {error}", path.display()))
}

/// Checks that `ui/dist` was built from the current sources.
fn check_built() -> Outcome {
    let ui = root().join("ui");
    let digest = sources::digest(&ui).map_err(|error| format!("ui: {error}"))?;
    let is_of = |folder: &Path| {
        fs::read_to_string(folder.join(sources::BUILT_FROM)).is_ok_and(|of| of == digest)
    };
    let (dist, anew) = (ui.join("dist"), binaries::debug_folder().with_file_name("page-built"));
    // An earlier build of the same sources can be reused.
    if !is_of(&anew) {
        sources::build(&ui, &anew)?;
        let path = anew.join(sources::BUILT_FROM);
        fs::write(&path, &digest).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let same = |part: &str| fs::read(anew.join(part)).ok() == fs::read(dist.join(part)).ok();
    match is_of(&dist) && sources::PARTS.iter().all(|part| same(part)) {
        true => Ok(()),
        false => Err("ui/dist is not up to date with its sources: run cargo xtask page \
                --build"
            .to_owned()),
    }
}

struct Page {
    bactrian: PathBuf,
    fixtures: PathBuf,
    /// Whether other checks run at the same time.
    is_one_of_many: bool,
}

/// Leaking programs, their size arguments, and when to take snapshots; small enough that a contact sheet of all
/// takes a minute.
const CULPRITS: [(&str, &str, &str); 7] = [
    ("wrong_key", "20000", "major"),
    ("kept_trees", "60", "exit"),
    ("full_queue", "20000", "exit"),
    ("copied_strings", "40000", "exit"),
    ("deep_renaming", "4000", "peak"),
    ("finaliser_cycle", "500", "exit"),
    ("callbacks", "3000", "exit"),
];

impl Page {
    /// Builds the program with the page in it, and examples, as tests do.
    fn new() -> Result<Page, String> {
        binaries::build()?;
        let debug = binaries::debug_folder();
        let fixtures = debug.with_file_name("page");
        fs::create_dir_all(&fixtures)
            .map_err(|error| format!("{}: {error}", fixtures.display()))?;
        let is_one_of_many = std::env::var_os(binaries::ONE_OF_MANY).is_some();
        Ok(Page { bactrian: debug.join("bactrian"), fixtures, is_one_of_many })
    }

    fn example(&self, name: &str) -> PathBuf {
        self.bactrian.with_file_name("examples").join(name)
    }

    /// Records the files to show: a leaking program, its snapshots, its live numbers.
    fn make_fixtures(&self) -> Outcome {
        let programs = root().join("programs");
        for source in ["leaky_cache.ml", "steady.ml", "heap_fixture.ml", "heap_finaliser_leak.ml"] {
            fs::copy(programs.join(source), self.fixtures.join(source))
                .map_err(|error| format!("{source}: {error}"))?;
        }
        succeed(Command::new(self.example("hostile_files")).arg(&self.fixtures))?;
        let run = |program: &Path, line: &str| {
            let mut command = Command::new(program);
            command.args(line.split_whitespace()).current_dir(&self.fixtures);
            succeed(command.stdin(Stdio::null()).stdout(Stdio::null()))
        };
        run(Path::new("ocamlopt.opt"), "-g -bin-annot leaky_cache.ml -o leaky_cache")?;
        run(Path::new("ocamlopt.opt"), "-g -bin-annot unix.cmxa steady.ml -o steady")?;
        let bactrian = &self.bactrian;
        for (name, requests) in [("before", 3_000), ("leaky", 12_000)] {
            self.remove_all_of(name)?;
            run(
                bactrian,
                &format!(
                    "record --rate 2e-3 --snapshots major --snapshot-limits copies=64 -o {name}.ctf -- ./leaky_cache {requests}"
                ),
            )?;
        }
        run(
            Path::new("ocamlopt.opt"),
            "-g -bin-annot heap_fixture.ml heap_finaliser_leak.ml -o finalisers",
        )?;
        self.remove_all_of("finalisers")?;
        run(bactrian, "record --snapshots exit --no-trace -o finalisers.ctf -- ./finalisers")?;
        fs::rename(self.fixtures.join("finalisers.1.heap"), self.fixtures.join("finalisers.heap"))
            .map_err(|error| format!("the snapshot of finalisers: {error}"))?;
        run(bactrian, "live --record run.live --for 3s -- ./leaky_cache 200000")?;
        self.observe()?;
        // One report for all tests (`ui/tests/page.mjs`), because its tour through all views takes long. The
        // number of snapshots depends on the load of the machine.
        let last =
            (1_u32..).take_while(|at| self.fixtures.join(format!("leaky.{at}.heap")).exists());
        let last = last.last().ok_or("the program that leaks has no snapshot")?;
        let heaps = format!("leaky.1.heap leaky.{}.heap leaky.{last}.heap", last.div_ceil(2));
        run(bactrian, &format!("report before.ctf leaky.ctf {heaps} observed.live -o report.html"))
    }

    /// Records live numbers of a program with every kind of observer.
    fn observe(&self) -> Outcome {
        let observed = self.example("observed");
        let mut program = Command::new(&observed);
        // One of its observers panics on purpose and prints a message.
        program.arg("60").stderr(Stdio::null());
        let mut program =
            program.spawn().map_err(|error| format!("{}: {error}", observed.display()))?;
        let mut live = Command::new(&self.bactrian);
        live.args(["live", "--record", "observed.live", "--for", "3s", &program.id().to_string()]);
        let watched = succeed(live.current_dir(&self.fixtures).stdout(Stdio::null()));
        let ended = program.kill().and_then(|()| program.wait());
        watched.and(ended.map(drop).map_err(|error| error.to_string()))
    }

    /// Removes recorded and compiled files of a given name.
    fn remove_all_of(&self, name: &str) -> Outcome {
        let listed = fs::read_dir(&self.fixtures).map_err(|error| error.to_string())?;
        for file in listed.flatten() {
            let known = file.file_name();
            let known = known.to_string_lossy();
            if known.starts_with(&format!("{name}.")) {
                fs::remove_file(file.path()).map_err(|error| format!("{known}: {error}"))?;
            }
        }
        Ok(())
    }

    /// Writes the contact sheet: what the page shows for the programs of `docs/culprits.md`.
    fn write_sheet(&self) -> Outcome {
        for (name, argument, when) in CULPRITS {
            self.remove_all_of(name)?;
            let source = root().join(format!("programs/culprits/{name}.ml"));
            let copied = fs::copy(source, self.fixtures.join(format!("{name}.ml")));
            copied.map_err(|error| format!("{name}: {error}"))?;
            let mut compile = Command::new("ocamlopt.opt");
            compile.args(["-g", "-bin-annot", &format!("{name}.ml"), "-o", name]);
            succeed(compile.current_dir(&self.fixtures))?;
            let mut record = Command::new(&self.bactrian);
            record.args(["record", "--quiet", "--snapshots", when, "-o", &format!("{name}.ctf")]);
            record.args(["--", &format!("./{name}"), argument]);
            let quiet = record.stdin(Stdio::null()).stdout(Stdio::null());
            succeed(quiet.current_dir(&self.fixtures))?;
        }
        let mut node = self.node("tests/sheet.mjs");
        node.arg(root().join("docs/images/culprits.jpg"));
        succeed(node.args(CULPRITS.iter().map(|(name, ..)| name)))
    }

    /// A script of the page's tests, told where the program and the files are.
    fn node(&self, script: &str) -> Command {
        let ui = root().join("ui");
        let mut node = Command::new("node");
        node.arg(script).current_dir(&ui);
        node.env("BACTRIAN", &self.bactrian).env("BACTRIAN_FIXTURES", &self.fixtures);
        // Keeps the indexes out of the user's own cache directory.
        node.env("XDG_CACHE_HOME", self.fixtures.join("cache"));
        // Nobody looks at the screenshots when all tests run, and each takes half a second of processor time.
        if !self.is_one_of_many {
            node.env("BACTRIAN_PICTURES", ui.join("screenshots"));
        }
        node
    }

    /// Writes the TypeScript types of questions and answers, generated from those of `crates/analysis`. Only
    /// checks and editors use them.
    fn write_types(&self) -> Outcome {
        let made = Command::new(self.example("page_types")).output();
        let made = made.map_err(|error| format!("page_types: {error}"))?;
        let path = root().join("ui/src/api/generated.ts");
        fs::write(&path, made.stdout).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Runs all tests, or those in files whose names begin with one of these words.
    fn check(&self, only: &[String]) -> Outcome {
        let ui = root().join("ui");
        if only.is_empty() {
            self.write_types()?;
            let mut npm = Command::new("npm");
            succeed(npm.args(["run", "--silent", "check"]).current_dir(&ui))?;
        }
        let tests = fs::read_dir(ui.join("tests")).map_err(|error| error.to_string())?;
        let mut tests: Vec<_> = tests.flatten().map(|file| file.path()).collect();
        tests.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_chosen = only.is_empty() || only.iter().any(|only| name.starts_with(only));
            name.ends_with(".test.mjs") && is_chosen
        });
        tests.sort();
        // Three at a time: a page waits for its server, and its test for the page. With fewer, this would
        // finish last when the test programs run at the same time.
        let mut node = self.node("--test");
        succeed(node.arg("--test-concurrency=3").args(tests))
    }
}
