(* Uses each library that tests need, to see that what was downloaded works. *)
type _ Effect.t += Ask : string Effect.t

let asked () =
  match Effect.perform Ask with
  | answer -> answer
  | effect Ask, k -> Effect.Deep.continue k "effect"

let () =
  (* First, since a program with several domains may not fork. *)
  (match Unix.fork () with
  | 0 ->
      print_string "process ";
      exit 0
  | child -> ignore (Unix.waitpid [] child));
  Thread.join (Thread.create (fun () -> print_string "thread ") ());
  print_string (Domain.join (Domain.spawn (fun () -> "domain ")));
  print_string (asked () ^ " ");
  Dynlink.loadfile "plugin.cmxs";
  print_endline Sys.ocaml_version
