(* Loaded by host.ml. *)
let () = print_string "plugin "
