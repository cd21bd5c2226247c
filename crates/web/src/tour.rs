//! Determines the contents of a report: the page is rendered view by view, and the report contains what it
//! asks for (`ui/src/tour/`).

use std::sync::mpsc;

use rquickjs::{Function, Object};

use crate::script::with_page;

/// A question that the page asked.
#[derive(Debug)]
pub struct Asked {
    /// As in a URL: `trace/top?file=0`.
    pub question: String,
    /// The fraction of the tour that is done.
    pub done: f64,
}

/// Takes the page through its views. `answer` returns answers in JSON, or None.
///
/// # Errors
/// The message of an error in the page's script. Earlier questions have been passed to `answer`.
pub fn tour(answer: &mut dyn FnMut(Asked) -> Option<String>) -> Result<(), String> {
    // Functions that the script calls must live as long as the script, so they only own the ends of channels.
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
