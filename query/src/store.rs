//! Object stores: those of Amazon, Google and Microsoft, and others with the same protocols. Credentials come from the
//! environment, as for their own tools: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL` and so on.

use std::io;
use std::sync::Arc;

use bactrian::Failure;
use bactrian_fleet::Store;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    Error, ObjectStore, ObjectStoreExt, ObjectStoreScheme, parse_url_opts,
};
use futures::TryStreamExt;
use tokio::runtime::Runtime;
use url::Url;

/// A store at an address.
pub struct RemoteStore {
    objects: Arc<dyn ObjectStore>,
    /// The prefix of all names.
    folder: Path,
    runtime: Arc<Runtime>,
}

/// The store at an address, and the folder in it.
pub fn at(address: &Url) -> Result<(Arc<dyn ObjectStore>, Path), Failure> {
    let wrong = |error: Error| Failure::Usage(format!("{address}: {error}"));
    ObjectStoreScheme::parse(address).map_err(|error| wrong(error.into()))?;
    // Names as their tools have them; unknown ones are ignored.
    let said = std::env::vars().filter_map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let is_theirs = ["aws_", "google_", "azure_"].iter().any(|it| name.starts_with(it));
        is_theirs.then_some((name, value))
    });
    let (objects, folder) = parse_url_opts(address, said).map_err(wrong)?;
    Ok((objects.into(), folder))
}

impl RemoteStore {
    pub fn open(address: &Url, runtime: Arc<Runtime>) -> Result<RemoteStore, Failure> {
        let (objects, folder) = at(address)?;
        Ok(RemoteStore { objects, folder, runtime })
    }

    fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.folder.clone(), |path, part| path.join(part))
    }
}

fn failed(error: Error) -> io::Error {
    match error {
        Error::NotFound { .. } => io::Error::new(io::ErrorKind::NotFound, error.to_string()),
        error => io::Error::other(error.to_string()),
    }
}

impl Store for RemoteStore {
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(name);
        let put = self.objects.put(&path, bytes.to_vec().into());
        self.runtime.block_on(put).map(drop).map_err(failed)
    }

    fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.path(name);
        let got = async { self.objects.get(&path).await?.bytes().await };
        self.runtime.block_on(got).map(Vec::from).map_err(failed)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let within = self.path(folder);
        let listed = self.objects.list(Some(&within)).try_collect::<Vec<_>>();
        let listed = self.runtime.block_on(listed).map_err(failed)?;
        let name = |path: &Path| {
            let parts = path.prefix_match(&self.folder)?;
            Some(parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/"))
        };
        let mut names: Vec<String> =
            listed.iter().filter_map(|object| name(&object.location)).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.path(name);
        match self.runtime.block_on(self.objects.delete(&path)) {
            Err(Error::NotFound { .. }) => Ok(()),
            removed => removed.map_err(failed),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.path(from), self.path(to));
        self.runtime.block_on(self.objects.rename(&from, &to)).map_err(failed)
    }
}
