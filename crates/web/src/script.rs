//! The page's script where there is no browser: in QuickJS, which is a part of this program.

use rquickjs::context::EvalOptions;
use rquickjs::{CatchResultExt, Context, Ctx, Object, Runtime};

use crate::page;

/// Deep trees are rendered by recursion.
const STACK: usize = 16 << 20;
/// No page needs as much: it would be a fault of the page's, and must not harm the machine.
const MEMORY: usize = 2 << 30;

/// Runs the page's script in a thread of its own, and then `run` with what the script offers: the object `bactrian`, see
/// `ui/src/main.tsx`. The caller does something `meanwhile`.
///
/// # Errors
/// What the script threw, in its words: a fault of the page's.
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
        let thread = thread.map_err(|error| format!("no thread for the page: {error}"))?;
        meanwhile();
        thread.join().unwrap_or_else(|_| Err("the page's script ended in a panic".to_owned()))
    })
}
