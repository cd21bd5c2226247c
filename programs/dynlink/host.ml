(* Loads plugin.cmxs, which stands beside it, and runs what it brings. *)
let plugin = Filename.concat (Filename.dirname Sys.executable_name) "plugin.cmxs"
let run name n = (Hashtbl.find Hooks.known name) n

let () =
  Printf.printf "before: %d known\n" (Hashtbl.length Hooks.known);
  (try Dynlink.loadfile "no_such_plugin.cmxs"
   with Dynlink.Error _ -> print_endline "no_such_plugin.cmxs: not loaded");
  Dynlink.loadfile plugin;
  Printf.printf "after: %d known\n" (Hashtbl.length Hooks.known);
  let words = run "words" 5_000 in
  Gc.full_major ();
  Printf.printf "words: %d\n" (List.fold_left (fun sum word -> sum + String.length word) 0 words);
  match run "fail" 3 with
  | _ -> print_endline "returned"
  | exception Failure what -> Printf.printf "failed: %s\n" what
