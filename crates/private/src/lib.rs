//! Folders that only this user can change, and the files in them.
//!
//! For: what we put down in one run and load, run or believe in another: the agent, the helper that reads types, tables,
//! indexes, folders of rings. Some of it lies where everybody may write (`/tmp`, `/dev/shm`), and some of our users are root:
//! who could plant a file there could run as root.
//!
//! Promises: a [`PrivateFolder`] belongs to this user or to root, nobody else may write to it, it is no symbolic link, and
//! nobody else can put another in its place, because the same holds for all folders above it (there a sticky bit will do).
//! It is opened once, and everything goes through that descriptor. The files that it finds are regular ones, and belong to
//! this user or to root; nobody else may write to them. New files appear whole, by a rename.
//!
//! Left out: where such folders are, and what to do if there is none; that is known to those who need them.
//!
//! ```
//! use std::io::{Read, Write};
//! use bactrian_private::PrivateFolder;
//!
//! let place = tempfile::tempdir()?;
//! let folder = PrivateFolder::make(&place.path().join("cache"))?;
//! let mut file = folder.new_file(0o600)?;
//! file.write_all(b"ours")?;
//! file.persist("name")?;
//! let mut text = String::new();
//! folder.find("name")?.read_to_string(&mut text)?;
//! assert_eq!(text, "ours");
//! # Ok::<_, std::io::Error>(())
//! ```

mod above;
mod error;
mod folder;
mod partial;

pub use error::PrivateError;
pub use folder::{FileFacts, FolderWithin, PrivateFolder};
pub use partial::PartialFile;
