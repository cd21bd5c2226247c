//! What a report has: the page is rendered for it, view after view, and what it asks for is what the report carries
//! (`ui/src/tour/`).

use std::sync::mpsc;

use rquickjs::{Function, Object};

use crate::script::with_page;

/// What the page asks for.
#[derive(Debug)]
pub struct Asked {
    /// As in a URL: `trace/top?file=0`.
    pub question: String,
    /// How much of the tour is done, up to 1.
    pub done: f64,
}

/// Leads the page through its views. `answer` gives answers in JSON, or none.
///
/// # Errors
/// What went wrong with the page, in its words. What was asked before stays asked.
pub fn tour(answer: &mut dyn FnMut(Asked) -> Option<String>) -> Result<(), String> {
    // What the script calls must live as long as the script: so it has only the ends of channels.
    let (ask, asked) = mpsc::channel::<Asked>();
    let (tell, told) = mpsc::channel::<Option<String>>();
    with_page(
        move |ctx, offered| {
            let host = Object::new(ctx.clone())?;
            let ask = move |question: String, done: f64| {
                ask.send(Asked { question, done }).ok()?;
                told.recv().ok()?
            };
            host.set("ask", Function::new(ctx.clone(), ask)?)?;
            offered.get::<_, Function<'_>>("tour")?.call((host,))
        },
        || {
            for one in asked {
                if tell.send(answer(one)).is_err() {
                    break;
                }
            }
        },
    )
}
