(* Linked with the library, of which it uses nothing but a snapshot: nothing starts. *)

let () = ignore (Bactrian.snapshot ())
