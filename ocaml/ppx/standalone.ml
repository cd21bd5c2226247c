(* The ppx as a standalone program. *)

let () = Ppxlib.Driver.standalone ()
