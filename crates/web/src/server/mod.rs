//! The HTTP server on loopback: the files of the page, answers to questions, and the one request that changes something.

mod guard;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use bactrian_analysis::question::{FileNumber, QuestionError};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::api;
use crate::evidence::Evidence;
use crate::growing::{GrowingEvidence, NotBegun};
use crate::page;
use crate::query::Query;
use crate::scheduler::{NoAnswer, Scheduler};
use crate::sql::{self, QueryEngine};
use guard::{Guard, Purpose, Refused};

/// What the page may do: run its own script, use its own style, and send requests to this server. Nothing inline, and nothing
/// from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The question for the progress of other questions.
const PROGRESS: &str = "progress";
/// The path of the request for a snapshot, the only request that is not a question.
const SNAPSHOT: &str = "api/snapshot";

/// Why the server cannot start.
#[derive(Debug)]
pub enum ServeError {
    /// The port is not available.
    Listen(u16, io::Error),
    /// Another resource of the server is not available.
    Start(io::Error),
}

impl std::fmt::Display for ServeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ServeError::Listen(port, error) => {
                write!(
                    f,
                    "cannot listen on port {port} of loopback: {error}. Choose another with --port, or 0 for any"
                )
            }
            ServeError::Start(error) => write!(f, "the server cannot be started: {error}"),
        }
    }
}

impl std::error::Error for ServeError {}

/// A running server, until dropped.
pub struct Server {
    url: String,
    evidence: Arc<GrowingEvidence>,
    /// Dropping it ends all its tasks.
    runtime: Option<tokio::runtime::Runtime>,
}

impl Server {
    /// The URL of the page, which grants full access.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Must be called before the program ends: completes files that are being written.
    pub fn end(self) {
        self.evidence.end();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Answers that are still being computed have no reader any more.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct Shared {
    evidence: Arc<GrowingEvidence>,
    guard: Guard,
    scheduler: Scheduler,
    engine: Option<QueryEngine>,
}

/// Serves the page on loopback at this port, or at any free port if it is 0. With an engine, SQL queries are
/// answered too.
///
/// # Errors
/// If the port is not available.
pub fn serve(
    evidence: Evidence,
    engine: Option<QueryEngine>,
    port: u16,
) -> Result<Server, ServeError> {
    let evidence = GrowingEvidence::new(evidence);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_io()
        .build()
        .map_err(ServeError::Start)?;
    let listening = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let listener = runtime.block_on(listening).map_err(|error| ServeError::Listen(port, error))?;
    let address = listener.local_addr().map_err(ServeError::Start)?;
    let guard = Guard::new(address).map_err(ServeError::Start)?;
    let url = format!("http://{address}/{}/", guard.token());
    let shared =
        Arc::new(Shared { evidence: evidence.clone(), guard, scheduler: Scheduler::new(), engine });
    let router = Router::new().fallback(respond).with_state(shared);
    runtime.spawn(async move {
        // Ends only with the runtime.
        drop(axum::serve(listener, router).await);
    });
    Ok(Server { url, evidence, runtime: Some(runtime) })
}

async fn respond(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response<Body> {
    let refused = |status, why: &str| text(status, "text/plain; charset=utf-8", why.to_owned());
    let path = request.uri().path();
    let purpose = match *request.method() {
        Method::GET | Method::HEAD => Purpose::Question,
        Method::POST if path.ends_with(&format!("/{SNAPSHOT}")) => Purpose::Change,
        _ => return refused(StatusCode::METHOD_NOT_ALLOWED, "send questions with GET\n"),
    };
    let wanted = match shared.guard.admit(purpose, path, request.headers()) {
        Ok(wanted) => wanted,
        Err(Refused::Token) => {
            return refused(
                StatusCode::FORBIDDEN,
                "open the URL that bactrian view printed: it contains the token\n",
            );
        }
        Err(Refused::Host | Refused::Origin) => {
            return refused(
                StatusCode::FORBIDDEN,
                "only requests of this page itself are answered\n",
            );
        }
    };
    let query = request.uri().query().unwrap_or_default();
    if purpose == Purpose::Change {
        return match wanted {
            SNAPSHOT => take(&shared, query),
            _ => refused(StatusCode::NOT_FOUND, "not found\n"),
        };
    }
    if let Some((bytes, kind)) = page::part(wanted) {
        return text(StatusCode::OK, kind, bytes.into_owned());
    }
    let Some(name) = wanted.strip_prefix("api/") else {
        return refused(StatusCode::NOT_FOUND, "not found\n");
    };
    if name == PROGRESS {
        return json(StatusCode::OK, &json!({ "result": shared.scheduler.progress() }));
    }
    answer(&shared, name.to_owned(), query).await
}

/// Starts to take a snapshot of the requested file.
fn take(shared: &Shared, query: &str) -> Response<Body> {
    let query = Query::parse(query);
    let file = query.pairs().iter().find(|(name, _)| name == "file");
    let Some(file) = file.and_then(|(_, number)| number.parse().ok()) else {
        return json(
            StatusCode::BAD_REQUEST,
            &json!({ "error": "the parameter file, the number of a file, is missing" }),
        );
    };
    let (status, error) = match shared.evidence.take(FileNumber(file)) {
        Ok(begun) => return json(StatusCode::ACCEPTED, &json!({ "result": begun })),
        Err(NotBegun::Busy) => (StatusCode::CONFLICT, "another snapshot is being taken".to_owned()),
        Err(NotBegun::Forbidden(why)) => (StatusCode::FORBIDDEN, why),
        Err(NotBegun::Wrong(error)) => (StatusCode::BAD_REQUEST, error.to_string()),
        Err(NotBegun::Failed(why)) => (StatusCode::INTERNAL_SERVER_ERROR, why),
    };
    json(status, &json!({ "error": error }))
}

async fn answer(shared: &Arc<Shared>, name: String, query: &str) -> Response<Body> {
    let (asked, shown) = (Arc::clone(shared), Arc::clone(&shared.evidence));
    let question = format!("{name}?{query}");
    let query = Query::parse(query);
    let work = move || {
        let answer = match &*name {
            api::FILES => {
                // In this order, so that the file of a completed snapshot is in the list.
                let taking = shown.taking();
                api::files(&shown.now(), taking.as_ref(), asked.engine.is_some())?
            }
            sql::QUERY => sql::answer(asked.engine.as_ref(), &shown.now(), &query)?,
            name => api::answer(&shown.now(), name, &query)?,
        };
        serde_json::to_vec(&answer).map_err(|error| {
            QuestionError::Broken(format!("the answer cannot be written as JSON: {error}"))
        })
    };
    let (status, error) = match shared.scheduler.answer(&question, work).await {
        Ok(body) => return text(StatusCode::OK, "application/json", body),
        Err(NoAnswer::Refused(error)) => {
            let status = match error {
                QuestionError::Unknown(_) => StatusCode::NOT_FOUND,
                QuestionError::Broken(_) => StatusCode::UNPROCESSABLE_ENTITY,
                QuestionError::Parameter { .. }
                | QuestionError::Wrong(_)
                | QuestionError::NotFound(_) => StatusCode::BAD_REQUEST,
            };
            (status, error.to_string())
        }
        Err(NoAnswer::Panicked) => {
            let error =
                "answering this question failed because of a bug in bactrian: please report it";
            (StatusCode::INTERNAL_SERVER_ERROR, error.to_owned())
        }
    };
    json(status, &json!({ "error": error }))
}

fn json(status: StatusCode, value: &Value) -> Response<Body> {
    text(status, "application/json", value.to_string())
}

fn text(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
