(* What it holds until shortly before its end, it drops, and does not collect; a few blocks stay. For `record --final-gc`. *)

let dropped : string list ref = ref []
let held : string list ref = ref []
let finalised = ref 0

let () =
  dropped := List.init 3_000 (fun n -> String.make 100 (Char.chr (n land 127)));
  held := List.init 100 (fun n -> String.make 100 (Char.chr (n land 127)));
  Gc.finalise (fun _ -> incr finalised; print_endline "finalised") (List.hd !dropped);
  (* From here on they are in the major heap, and nothing collects it. *)
  Gc.full_major ();
  Printf.printf "%d and %d strings, %d finalised\n" (List.length !dropped) (List.length !held) !finalised;
  dropped := []
