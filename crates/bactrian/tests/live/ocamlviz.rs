//! A program linked with the original Ocamlviz, observed by our client.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use bactrian_fixtures::Recipe;

use crate::run::{Running, live, result, until, value};

/// One observer of every kind that works in the original on OCaml 4.13.
const PROGRAM: &str = r#"
let point = Ocamlviz.Point.create "a point"
let time = Ocamlviz.Time.create "a time"
let tag = Ocamlviz.Tag.create ~size:true "a tag"
let number = Ocamlviz.Value.observe_int_ref "a number" (ref 1)
let () = Ocamlviz.Value.observe_string_fct "a text" (fun () -> "is " ^ string_of_int !number)
let () = Ocamlviz.Value.observe_float_fct "a float" (fun () -> 0.5)
let () = Ocamlviz.Value.observe_bool_fct "a truth" (fun () -> true)
let () = Ocamlviz.Tree.observe "a tree" (fun () ->
  let leaf = Protocol.Node ("leaf", []) in Protocol.Node ("root", [leaf; leaf]))
let kept = List.init 10 (fun i -> Ocamlviz.Tag.mark tag (ref i))
let () =
  while true do
    Ocamlviz.Time.start time;
    for _ = 1 to 1000 do Ocamlviz.Point.observe point done;
    number := !number + 1;
    if !number mod 10_000 = 0 then Ocamlviz.log "passed %d" !number;
    Ocamlviz.Time.stop time;
    ignore (Sys.opaque_identity (ref !number, kept));
    Ocamlviz.yield ()
  done
"#;

#[test]
fn program_linked_with_the_original_ocamlviz_is_shown() {
    let arguments = "ocamlopt -thread -package ocamlviz -linkpkg viz.ml -o viz";
    let recipe = Recipe::new("ocamlviz").file("viz.ml", PROGRAM).step("ocamlfind", arguments);
    let program = recipe.build().join("viz");
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
    let child =
        Command::new(program).env("OCAMLVIZ_PORT", port.to_string()).stdout(Stdio::null()).spawn();
    let _running = Running(child.expect("it starts"));
    let address = format!("127.0.0.1:{port}");
    // It listens some time after its start, and accepts one client per period.
    let seen = until("the program's values", || {
        let watched = live(["--json", "--for", "2s", &address]).output().expect("it runs");
        let told = watched.status.success().then(|| result(&watched))?;
        (told["log"].as_array().is_some_and(|lines| !lines.is_empty())).then_some(told)
    });
    assert!(value(&seen, "a point").as_u64() > Some(1000), "{seen:#}");
    assert!(value(&seen, "a time")["seconds"].as_f64() > Some(0.0), "{seen:#}");
    assert!(value(&seen, "a number").as_i64() > Some(1));
    assert!(value(&seen, "a text").as_str().is_some_and(|text| text.starts_with("is ")));
    assert_eq!(value(&seen, "a float"), 0.5);
    assert_eq!(value(&seen, "a truth"), true);
    assert_eq!(value(&seen, "a tag"), &serde_json::json!({ "count": 10, "bytes": 160 }));
    let labels: Vec<_> = value(&seen, "a tree")["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| &it["label"])
        .collect();
    assert_eq!(labels, ["root", "leaf"]);
    assert!(value(&seen, "runtime.heap").as_i64() > Some(0));
    let line = seen["log"][0]["text"].as_str().expect("a line");
    assert!(line.starts_with("passed "), "{line}");
}
