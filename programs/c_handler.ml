(* Allocates without end, until a signal handler written in C ends the process: it may come at any moment, in the
   midst of what a recorder does too. *)

external end_by_a_signal : int -> unit = "end_by_a_signal"

let () =
  end_by_a_signal (int_of_string Sys.argv.(1));
  while true do
    ignore (Sys.opaque_identity (ref 1))
  done
