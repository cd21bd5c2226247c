//! Requests to servers of profiles, by the HTTP client of the object stores.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bactrian::Failure;
use bactrian_fleet::HttpClient;
use tokio::runtime::Runtime;

/// The timeout of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// The maximum number of characters of a server's answer that are shown.
const MOST_SHOWN: usize = 200;

/// Sends requests.
pub struct Client {
    client: reqwest::Client,
    runtime: Arc<Runtime>,
}

impl Client {
    pub fn new(runtime: Arc<Runtime>) -> Result<Client, Failure> {
        // Redirects are not followed, so that profiles do not reach other servers.
        let client = reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("bactrian/", env!("CARGO_PKG_VERSION")));
        let client = client.build().map_err(|error| Failure::Input(error.into()))?;
        Ok(Client { client, runtime })
    }
}

impl HttpClient for Client {
    fn post(&self, url: &str, content_type: &str, body: &[u8]) -> io::Result<()> {
        let server = url.split('?').next().unwrap_or(url);
        let failed =
            |error: reqwest::Error| io::Error::other(format!("{server}: {}", error.without_url()));
        self.runtime.block_on(async {
            let request = self.client.post(url).header("Content-Type", content_type);
            let answer = request.body(body.to_vec()).send().await.map_err(failed)?;
            let status = answer.status();
            if status.is_success() {
                return Ok(());
            }
            let said = answer.text().await.unwrap_or_default();
            let said: String = said.chars().filter(|c| !c.is_control()).take(MOST_SHOWN).collect();
            Err(io::Error::other(format!("{server}: {status}: {said}")))
        })
    }
}
