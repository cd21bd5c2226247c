//! The package for Fedora, RHEL, SUSE and their derivatives.

use std::process::Command;

use super::{copy, fresh, names, release::Release, tree::Tree, write};
use crate::Outcome;
use crate::command::output;

pub fn pack(release: &Release, tree: &Tree) -> Outcome {
    let version = &release.version;
    let folder = release.work.join("rpm");
    fresh(&folder)?;
    let spec = folder.join("bactrian.spec");
    let files = tree.folder.display();
    // Nothing is compiled, stripped or compressed here: these are the files of the archive. gzip is the fastest compression that
    // RHEL 7 knows.
    write(
        &spec,
        &format!(
            r#"%global debug_package %{{nil}}
%global __os_install_post %{{nil}}
%global _build_id_links none
%global _buildhost bactrian
%global _binary_payload w9.gzdio
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
Name: bactrian
Version: {version}
Release: 1
Summary: Shows what an OCaml program keeps in memory
License: MIT OR Apache-2.0
Group: Development/Debuggers

%description
What was allocated, where, of what type, what became of it, and who holds it.
Works on programs as they are: not recompiled, not relinked, stripped or not.

%install
mkdir -p %{{buildroot}}/usr
cp -r {files}/. %{{buildroot}}/usr
find %{{buildroot}} -exec touch -h -d @{epoch} {{}} +

%files
%defattr(-,root,root)
%attr(755,root,root) /usr/bin/bactrian
/usr/share/man/man1/*
/usr/share/bash-completion/completions/bactrian
/usr/share/zsh/site-functions/_bactrian
/usr/share/fish/vendor_completions.d/bactrian.fish
%doc /usr/share/doc/bactrian
"#,
            epoch = release.epoch
        ),
    )?;
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--quiet", "--target", "x86_64-linux", "--define"]);
    build.arg(format!("_topdir {}", folder.display())).arg(&spec);
    output(build.env("SOURCE_DATE_EPOCH", &release.epoch))?;
    let built = folder.join("RPMS/x86_64");
    names(&built)?.iter().try_for_each(|name| copy(&built.join(name), &release.out.join(name)))
}
