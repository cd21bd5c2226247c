//! A metrics endpoint for Prometheus, on the HTTP server that the page uses.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

/// The content type of the text format.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Serves the text that was published last, until dropped.
pub struct Metrics {
    text: Text,
    address: SocketAddr,
    /// Dropping it ends all its tasks.
    runtime: Option<tokio::runtime::Runtime>,
}

type Text = Arc<Mutex<Arc<str>>>;

impl Metrics {
    /// Listens on this address; `:PORT` means loopback.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub fn serve(address: &str) -> io::Result<Metrics> {
        let address = match address.strip_prefix(':') {
            Some(port) => format!("127.0.0.1:{port}"),
            None => address.to_owned(),
        };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_io().build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        let text = Text::new(Mutex::new(Arc::from("")));
        let router = Router::new()
            .route("/metrics", get(give))
            .route("/", get(give))
            .fallback(|| async { (axum::http::StatusCode::NOT_FOUND, "look at /metrics\n") })
            .with_state(text.clone());
        runtime.spawn(async move {
            // Ends only with the runtime.
            drop(axum::serve(listener, router).await);
        });
        Ok(Metrics { text, address, runtime: Some(runtime) })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the text.
    pub fn publish(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text.into();
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        // A response in progress is cut off.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn give(State(text): State<Text>) -> impl IntoResponse {
    let text = Arc::clone(&text.lock().unwrap_or_else(PoisonError::into_inner));
    ([(header::CONTENT_TYPE, FORMAT)], text.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn last_published_text_is_served() {
        let metrics = Metrics::serve("127.0.0.1:0").expect("a port");
        // A silent client and a client that never finishes its request must not delay others.
        let _silent = TcpStream::connect(metrics.address()).expect("connected");
        let mut slow = TcpStream::connect(metrics.address()).expect("connected");
        slow.write_all(b"GET /metrics HTTP/1.1\r\nX: ").expect("heard");
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(metrics.address()).expect("connected");
            stream.write_all(request.as_bytes()).expect("asked");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("answered");
            answer
        };
        for text in ["x 1\n", "x 2\n"] {
            metrics.publish(text.to_owned());
            for path in ["/", "/metrics", "/metrics?x"] {
                let answer =
                    ask(&format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                assert!(answer.contains(FORMAT) && answer.ends_with(text), "{answer}");
            }
        }
        let close = "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        assert!(ask(&format!("GET /else {close}")).starts_with("HTTP/1.1 404"));
        assert!(ask(&format!("POST /metrics {close}")).starts_with("HTTP/1.1 405"));
    }
}
