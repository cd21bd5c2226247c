(* Allocates for a number of seconds, at an even pace, and keeps a little: for tests that end it before.
   Usage: steady SECONDS [busy|idle]. An idle one sleeps most of the time. *)

let kept = Queue.create ()

let rec turn n =
  if n > 0 then begin
    Queue.push (string_of_int n) kept;
    if Queue.length kept > 1_000 then ignore (Queue.pop kept);
    turn (n - 1)
  end

let () =
  let finish = Unix.gettimeofday () +. float_of_string Sys.argv.(1) in
  let idle = Array.length Sys.argv > 2 && Sys.argv.(2) = "idle" in
  while Unix.gettimeofday () < finish do
    turn 500;
    if idle then Unix.sleepf 0.02
  done;
  print_endline "done"
