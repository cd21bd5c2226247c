(* A value that is true where a marker is set, and nowhere else; so is what a closure says. Begins when somebody watches; until its
   input ends. *)

open Bactrian

let () =
  let here = ref false and times = ref 0 in
  ignore (Value.bool "here" (fun () -> !here));
  let counted = Value.int_ref "times" times in
  print_endline "ready";
  Clients.wait_for_connected 1;
  for n = 1 to 20 do
    here := true;
    times := n;
    Clients.marker (string_of_int n);
    here := false;
    times := 0
  done;
  print_endline "done";
  (try ignore (input_char stdin) with End_of_file -> ());
  ignore (Sys.opaque_identity counted)
