(* A library starts a thread before OCaml starts; the thread writes into a file that is opened later. All threads of a
   process have one table of descriptors, so it can. Writes late.txt. *)

external write_by_early_thread : Unix.file_descr -> unit = "write_by_early_thread"

let () =
  ignore (Sys.opaque_identity (List.init 10_000 succ));
  let file = Unix.openfile "late.txt" [ O_WRONLY; O_CREAT; O_TRUNC ] 0o600 in
  write_by_early_thread file
