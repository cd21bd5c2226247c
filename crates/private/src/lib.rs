//! Folders that only this user can change, and the files in them.
//!
//! **Purpose.** Files that one run writes and another loads, executes or believes: the agent, the helper that
//! reads types, tables, indexes, folders of rings. Some are in places where everybody may write (`/tmp`,
//! `/dev/shm`), and some of our users are root: someone who could plant a file there could run code as root.
//!
//! **Promises.** A [`PrivateFolder`] belongs to this user or to root, nobody else may write to it, and it is
//! not a symbolic link. Nobody else can put another folder in its place, because the same holds for all folders
//! above it (where a sticky bit suffices). It is opened once, and everything goes through that file descriptor.
//! The files that it finds are regular files that belong to this user or to root, and nobody else may write to
//! them. New files appear complete, by a rename.
//!
//! **Left out:** where such folders are, and what to do if there is none. Their users know that.
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
