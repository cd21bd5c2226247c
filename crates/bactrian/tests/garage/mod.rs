//! A distributed store on this machine: Garage with three nodes, as installed by `cargo xtask query`. Each
//! file is on all three, and two suffice for writing and reading.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const BUCKET: &str = "profiles";
const NODES: usize = 3;

pub struct Garage {
    folder: PathBuf,
    nodes: Vec<Option<Child>>,
    ports: Vec<u16>,
    key: (String, String),
}

/// Ports that are free at the moment.
fn free_ports(count: usize) -> Vec<u16> {
    let held: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    held.iter().map(|it| it.local_addr().expect("an address").port()).collect()
}

fn program() -> PathBuf {
    let tools = std::env::var_os("BACTRIAN_GARAGE").expect("cargo xtask query sets it");
    Path::new(&tools).join("bin/garage")
}

impl Garage {
    /// Starts it, with a bucket and a key.
    pub fn start(folder: &Path) -> Garage {
        let ports = free_ports(2 * NODES);
        for node in 0..NODES {
            let own = folder.join(node.to_string());
            fs::create_dir_all(&own).expect("room");
            let (own_text, rpc, api) = (own.display(), ports[node], ports[NODES + node]);
            let text = format!(
                "metadata_dir = \"{own_text}/meta\"\ndata_dir = \"{own_text}/data\"\ndb_engine = \"sqlite\"\n\
                 replication_factor = {NODES}\nrpc_bind_addr = \"127.0.0.1:{rpc}\"\n\
                 rpc_public_addr = \"127.0.0.1:{rpc}\"\nrpc_secret = \"{}\"\n\
                 [s3_api]\ns3_region = \"garage\"\napi_bind_addr = \"127.0.0.1:{api}\"\n",
                "5a".repeat(32)
            );
            fs::write(own.join("garage.toml"), text).expect("room");
        }
        let nodes = (0..NODES).map(|_| None).collect();
        let mut garage =
            Garage { folder: folder.to_owned(), nodes, ports, key: Default::default() };
        (0..NODES).for_each(|node| garage.start_node(node));
        let ids: Vec<String> =
            (0..NODES).map(|node| garage.asked(node, &["node", "id", "-q"])).collect();
        for id in &ids {
            let id = id.trim();
            garage.asked(0, &["node", "connect", id]);
            let name = id.split('@').next().unwrap_or(id);
            garage.asked(0, &["layout", "assign", "-z", &name[..8], "-c", "1G", name]);
        }
        garage.asked(0, &["layout", "apply", "--version", "1"]);
        let key = garage.asked(0, &["key", "create", "fleet"]);
        let said = |what: &str| {
            let line = key.lines().find_map(|line| line.strip_prefix(what));
            line.expect("it says so").trim().to_owned()
        };
        garage.key = (said("Key ID:"), said("Secret key:"));
        garage.asked(0, &["bucket", "create", BUCKET]);
        garage.asked(0, &["bucket", "allow", "--read", "--write", BUCKET, "--key", "fleet"]);
        garage
    }

    pub fn start_node(&mut self, node: usize) {
        let mut command = self.command(node);
        command.arg("server").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.nodes[node] = Some(command.spawn().expect("cargo xtask query gets it"));
    }

    /// Kills a node.
    pub fn kill_node(&mut self, node: usize) {
        if let Some(mut child) = self.nodes[node].take() {
            child.kill().and_then(|()| child.wait()).expect("it was there");
        }
    }

    fn command(&self, node: usize) -> Command {
        let mut command = Command::new(program());
        command.arg("-c").arg(self.folder.join(node.to_string()).join("garage.toml"));
        command
    }

    /// The output of a command about a node, once the node is up.
    fn asked(&self, node: usize, words: &[&str]) -> String {
        let begin = Instant::now();
        loop {
            let output = self.command(node).args(words).output().expect("it runs");
            if output.status.success() {
                return String::from_utf8(output.stdout).expect("text");
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{words:?}: {output:?}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// The URL of a folder in the bucket.
    pub fn address(&self, folder: &str) -> String {
        format!("s3://{BUCKET}/{folder}")
    }

    /// The environment variables for access.
    pub fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT", format!("http://127.0.0.1:{}", self.ports[NODES])),
            ("AWS_ACCESS_KEY_ID", self.key.0.clone()),
            ("AWS_SECRET_ACCESS_KEY", self.key.1.clone()),
            ("AWS_REGION", "garage".to_owned()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
        ]
    }
}

impl Drop for Garage {
    fn drop(&mut self) {
        (0..NODES).for_each(|node| self.kill_node(node));
    }
}
