(* The ppx as a program of its own. *)

let () = Ppxlib.Driver.standalone ()
