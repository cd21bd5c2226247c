(* As host.ml, for OCaml 4, which has neither domains nor effects. *)
let () =
  (match Unix.fork () with
  | 0 ->
      print_string "process ";
      exit 0
  | child -> ignore (Unix.waitpid [] child));
  Thread.join (Thread.create (fun () -> print_string "thread ") ());
  Dynlink.loadfile "plugin.cmxs";
  print_endline Sys.ocaml_version
