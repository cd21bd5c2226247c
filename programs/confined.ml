(* Confines itself as servers do, then works: every system call but those that it needs is its end.
   Usage: confined COUNT. *)

external confine : unit -> unit = "bactrian_confine"

let kept = ref []

let[@inline never] allocate count =
  for n = 1 to count do
    kept := string_of_int n :: !kept
  done

let () =
  print_endline "free";
  confine ();
  allocate (int_of_string Sys.argv.(1));
  Printf.printf "%d kept\n%!" (List.length !kept)
