//! Checks that a release can be used: every package is installed in bare root file systems of Debian, without Rust and (except
//! for the npm package) without node, and used there on an OCaml program built with that Debian release's compiler. Needs root.

pub mod library;
mod roots;
pub mod source;

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::release::Release;
use super::{copy, fresh, make_folder, names, write};
use crate::Outcome;
use crate::command::{output, root, succeed};
use roots::{Bind, Root};

/// The suites that are checked by default.
const SUITES: &[&str] = &["bullseye", "bookworm", "trixie"];
/// The limit from the start of the installation to a report.
const MOST_SECONDS: f64 = 60.0;
const PROGRAM: &str = "leaky_cache";

/// A way to install the tool.
struct Form {
    name: &'static str,
    /// Packages that it needs beyond the bare root file system.
    packages: &'static [&'static str],
    /// The suites in which it is tried.
    suites: &'static [&'static str],
    /// The commands that a user types there; packages are in `/dist`.
    install: &'static str,
    /// The folder of the installed program.
    path: &'static str,
}

const FORMS: &[Form] = &[
    Form {
        name: "tar.zst",
        packages: &["zstd"],
        suites: &[],
        install: "zstd -dc /dist/bactrian-*-x86_64-linux.tar.zst | tar -x -C /usr/local --strip-components=1",
        path: "/usr/local/bin",
    },
    Form {
        name: "deb",
        packages: &[],
        suites: &[],
        install: "dpkg -i /dist/bactrian_*_amd64.deb && dpkg --verify bactrian",
        path: "/usr/bin",
    },
    Form {
        name: "wheel",
        packages: &["python3-venv"],
        suites: &[],
        install: "python3 -m venv /opt/bactrian && /opt/bactrian/bin/pip install --no-index /dist/bactrian-*.whl",
        path: "/opt/bactrian/bin",
    },
    // Debian's npm depends on three hundred packages, so this machine's npm installs, and node in the root file system runs.
    Form {
        name: "npm",
        packages: &["nodejs"],
        suites: &[],
        install: "node --version",
        path: "/npm/node_modules/.bin",
    },
    // The database of Debian's rpm is empty, so no dependency counts as installed.
    Form {
        name: "rpm",
        packages: &["rpm"],
        suites: &["bookworm"],
        install: "rpm -qp --requires /dist/bactrian-*.rpm && rpm -i --nodeps /dist/bactrian-*.rpm && rpm -V --nodeps bactrian",
        path: "/usr/bin",
    },
];

pub fn run(suites: &[&str]) -> Outcome {
    let release = packed()?;
    let suites = if suites.is_empty() { SUITES } else { suites };
    check_sums(&release)?;
    let npm = install_by_npm(&release)?;
    let mut table = Vec::new();
    for suite in suites {
        let bare = Root::bare(suite)?;
        let program = compile(&release, &bare, suite)?;
        for form in
            FORMS.iter().filter(|form| form.suites.is_empty() || form.suites.contains(suite))
        {
            let root = bare.with(form.packages)?;
            println!("-- Debian {suite}: {}", form.name);
            let start = Instant::now();
            use_it(&release, &root, form, &program, &npm)?;
            let seconds = start.elapsed().as_secs_f64();
            table.push(format!("{seconds:6.1} s  {suite:<10} {}", form.name));
            if seconds > MOST_SECONDS {
                return Err(format!(
                    "{suite}, {}: {seconds:.1} s is more than a minute",
                    form.name
                ));
            }
        }
        table.push(source::rust_of(suite, &release)?);
    }
    println!("installed, and used doctor, record, snapshot and report:\n{}", table.join("\n"));
    Ok(())
}

/// The release in `dist/`, if it is of the commit that is checked out.
fn packed() -> Result<Release, String> {
    let release = Release::of_head(&root().join(".cache/dist"), &root().join("dist"))?;
    let bill = release.out.join(format!("{}.cdx.json", release.name()));
    let text = std::fs::read_to_string(&bill).unwrap_or_default();
    match text.contains(&release.commit) {
        true => Ok(release),
        false => {
            Err("dist/ has no release of this commit: run `cargo xtask dist` first".to_owned())
        }
    }
}

fn check_sums(release: &Release) -> Outcome {
    let mut sums = std::process::Command::new("sha256sum");
    succeed(sums.args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&release.out))
}

/// Compiles an OCaml program with the Debian release's compiler.
fn compile(release: &Release, bare: &Root, suite: &str) -> Result<PathBuf, String> {
    let folder = release.work.join("check").join(suite);
    fresh(&folder)?;
    let source = format!("{PROGRAM}.ml");
    copy(&release.source.join("programs").join(&source), &folder.join(&source))?;
    let compiler = bare.with(&["ocaml", "gcc", "libc6-dev"])?;
    let script = format!("cd /program && ocamlopt.opt -g -bin-annot {source} -o {PROGRAM}");
    compiler.run(&[Bind { from: &folder, to: "/program" }], &script)?;
    Ok(folder)
}

/// Does what `npm install bactrian` does, with the packages instead of a registry.
fn install_by_npm(release: &Release) -> Result<PathBuf, String> {
    let folder = release.work.join("check/npm");
    fresh(&folder)?;
    write(&folder.join("package.json"), "{}\n")?;
    let mut npm = std::process::Command::new("npm");
    npm.args(["install", "--offline", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"]);
    for name in names(&release.out)?.iter().filter(|name| name.ends_with(".npm.tgz")) {
        npm.arg(release.out.join(name));
    }
    output(npm.current_dir(&folder))?;
    Ok(folder)
}

fn use_it(release: &Release, root: &Root, form: &Form, program: &Path, npm: &Path) -> Outcome {
    let binds = [
        Bind { from: &release.out, to: "/dist" },
        Bind { from: program, to: "/program" },
        Bind { from: npm, to: "/npm" },
    ];
    let script = format!("{}\nPATH={}:$PATH\n{}", form.install, form.path, include_str!("use.sh"));
    make_folder(&release.work.join("check"))?;
    root.run(&binds, &script)
}
