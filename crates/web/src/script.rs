//! Runs the page's script without a browser, in the embedded QuickJS.

use rquickjs::context::EvalOptions;
use rquickjs::{CatchResultExt, Context, Ctx, Object, Runtime};

use crate::page;

/// In bytes. Deep trees are rendered recursively.
const STACK: usize = 16 << 20;
/// In bytes, far more than any page needs: a leak in the page's script must not exhaust the machine's memory.
const MEMORY: usize = 2 << 30;

/// Runs the page's script on a separate thread, then `run` with the object `bactrian` that the script
/// provides (see `ui/src/main.tsx`). The calling thread runs `meanwhile`.
///
/// # Errors
/// The message of an exception of the script, which is a bug in the page.
pub fn with_page<T: Send>(
    run: impl for<'js> FnOnce(&Ctx<'js>, &Object<'js>) -> rquickjs::Result<T> + Send,
    meanwhile: impl FnOnce(),
) -> Result<T, String> {
    let play = || -> Result<T, String> {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_max_stack_size(STACK);
        runtime.set_memory_limit(MEMORY);
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        context.with(|ctx| {
            let offered = || {
                let mut options = EvalOptions::default();
                options.filename = Some("app.js".to_owned());
                ctx.eval_with_options::<(), _>(page::text("app.js"), options)?;
                let offered: Object<'_> = ctx.globals().get("bactrian")?;
                run(&ctx, &offered)
            };
            offered().catch(&ctx).map_err(|thrown| thrown.to_string())
        })
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("page".to_owned())
            .stack_size(2 * STACK)
            .spawn_scoped(scope, play);
        let thread =
            thread.map_err(|error| format!("a thread for the page cannot be started: {error}"))?;
        meanwhile();
        thread.join().unwrap_or_else(|_| Err("the thread of the page's script panicked".to_owned()))
    })
}
