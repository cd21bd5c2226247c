(* The OCaml part of a C program, as a shared library with the runtime in it: embedded_main.c has a copy of the runtime's
   variable `Caml_state`, and the library's own is used by nobody. *)

let work n = List.length (List.init n string_of_int)
let () = Callback.register "work" work
