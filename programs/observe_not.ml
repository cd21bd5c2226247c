(* The same without the library. *)

let () = ignore (Sys.opaque_identity 0)
