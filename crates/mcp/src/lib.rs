//! Questions as tools of the Model Context Protocol, for coding assistants.
//!
//! Each question of `analysis` that has a command is a tool with the same parameters, and its schema is the
//! question's. Answers are conclusions of a few kilobytes ([`bounded`]), with notes and the command that
//! prints the complete answer. The protocol runs over standard input and output.

mod bounded;

use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bactrian_analysis::question::{QUESTIONS, QuestionEntry, QuestionError, RawParameters};
use bactrian_analysis::{Cancelled, StepProgress, UnderWay};
use bactrian_web::{Evidence, File};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

/// Opens a trace or a heap snapshot.
pub type Opener = Box<dyn Fn(&Path) -> Result<File, String> + Send + Sync>;

/// Instructions for assistants.
pub const SKILL: &str = include_str!("skill.md");

/// Questions that only the page asks: pictures, and completion of input.
const OF_THE_PAGE: &[&str] = &[
    "trace/flame",
    "trace/around",
    "trace/diff-flame",
    "trace/names",
    "heap/first-roots",
    "heap/diff-flame",
    "heap/evolution-names",
];
/// The prefix of questions about running programs, which cannot be opened here.
const LIVE: &str = "live/";
/// The interval between progress notifications.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// The default number of rows of a table.
const ROWS: usize = 10;

/// Serves on standard input and output until the client disconnects.
///
/// # Errors
/// If the runtime cannot be started, or the client does not speak the protocol.
pub fn serve(files: Vec<File>, open: Opener) -> io::Result<()> {
    let evidence = RwLock::new(Arc::new(Evidence::new(files)));
    let server = Server(Arc::new(Shared { evidence, open }));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let running = server.serve(rmcp::transport::stdio()).await.map_err(io::Error::other)?;
        running.waiting().await.map_err(io::Error::other)?;
        Ok(())
    })
}

#[derive(Clone)]
struct Server(Arc<Shared>);

struct Shared {
    evidence: RwLock<Arc<Evidence>>,
    open: Opener,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info.server_info = Implementation::new("bactrian", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(SKILL.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (shared, answer) = (self.0.clone(), UnderWay::default());
        let arguments = request.arguments.unwrap_or_default();
        let work = {
            let answer = answer.clone();
            move || answer.run(|| shared.call(&request.name, arguments))
        };
        let mut working = tokio::task::spawn_blocking(work);
        let answered = loop {
            tokio::select! {
                answered = &mut working => break answered,
                () = context.ct.cancelled(), if !answer.is_cancelled() => answer.cancel(),
                () = tokio::time::sleep(TELL_EVERY) => tell(&context, &answer).await,
            }
        };
        let failed = |why: String| CallToolResult::error(vec![ContentBlock::text(why)]);
        let result = match answered {
            Ok(Ok(Ok(answer))) => CallToolResult::success(vec![ContentBlock::text(answer)]),
            Ok(Ok(Err(error))) => failed(error.to_string()),
            Ok(Err(Cancelled)) => failed("the request was cancelled".to_owned()),
            Err(_) => {
                return Err(ErrorData::internal_error(
                    "answering failed because of a bug in bactrian: please report it",
                    None,
                ));
            }
        };
        Ok(result.into())
    }
}

/// Sends the progress of an answer, if the client asked for it.
async fn tell(context: &RequestContext<RoleServer>, answer: &UnderWay) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let StepProgress { step, done } = answer.progress();
    if step > 0 {
        let mut progress = ProgressNotificationParam::new(token, f64::from(step - 1) + done);
        progress.message = Some(format!("step {step}, {:.0} %", done * 100.0));
        // A client that has gone cannot be notified.
        drop(context.peer.notify_progress(progress).await);
    }
}

/// The questions that are tools.
fn questions() -> impl Iterator<Item = &'static QuestionEntry> {
    QUESTIONS
        .iter()
        .filter(|entry| !OF_THE_PAGE.contains(&entry.name) && !entry.name.starts_with(LIVE))
}

/// The name of a question's tool; tool names cannot contain slashes.
fn tool_name(entry: &QuestionEntry) -> String {
    entry.name.replace(['/', '-'], "_")
}

fn tools() -> Vec<Tool> {
    let object = |value: Value| -> JsonObject {
        if let Value::Object(object) = value { object } else { JsonObject::default() }
    };
    let open = object(json!({
        "type": "object",
        "properties": { "path": { "type": "string", "description": "The file" } },
        "required": ["path"],
    }));
    let about =
        "Opens a trace or a heap snapshot; returns the number by which other tools refer to it";
    let mut tools = vec![Tool::new("open", about, open)];
    let none = object(json!({ "type": "object", "properties": {} }));
    tools.push(Tool::new("files", "The open files, by number", none));
    tools.extend(
        questions()
            .map(|entry| Tool::new(tool_name(entry), entry.about(), object(entry.input_schema()))),
    );
    tools
}

impl Shared {
    fn evidence(&self) -> Arc<Evidence> {
        self.evidence.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn call(&self, name: &str, mut arguments: JsonObject) -> Result<String, QuestionError> {
        match name {
            "open" => return self.open(&arguments),
            "files" => return Ok(self.files()),
            _ => {}
        }
        let unknown = || QuestionError::Unknown(format!("there is no tool {name}"));
        let entry = questions().find(|entry| tool_name(entry) == name).ok_or_else(unknown)?;
        let has_rows = entry.parameters().iter().any(|parameter| parameter.name == "number");
        if has_rows && !arguments.contains_key("number") {
            arguments.insert("number".to_owned(), ROWS.into());
        }
        let answer = entry.ask(&*self.evidence(), RawParameters::Json(arguments))?;
        let mut notes: Vec<String> =
            answer.losses.iter().flat_map(|losses| losses.sentences()).collect();
        notes.extend(answer.notes);
        Ok(bounded::written(answer.result, &notes, answer.command.as_deref()))
    }

    fn open(&self, arguments: &JsonObject) -> Result<String, QuestionError> {
        let missing = || QuestionError::Wrong("path is missing".to_owned());
        let path = arguments.get("path").and_then(Value::as_str).ok_or_else(missing)?;
        let file = (self.open)(Path::new(path)).map_err(QuestionError::Broken)?;
        let mut evidence = self.evidence.write().unwrap_or_else(PoisonError::into_inner);
        let more = evidence.and(file);
        let number = more.files().len() - 1;
        *evidence = Arc::new(more);
        Ok(json!({ "file": number, "path": path }).to_string())
    }

    fn files(&self) -> String {
        let evidence = self.evidence();
        let files = evidence.files().iter().enumerate().map(|(number, file)| {
            json!({ "file": number, "path": file.path.to_string_lossy(), "kind": file.kind() })
        });
        Value::Array(files.collect()).to_string()
    }
}
