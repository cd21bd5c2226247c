(* Starts so many children, which allocate and hold more the later they were started; all of them end after some seconds, and
   children with their parent. *)

let work number seconds parent =
  let held = Array.init (10_000 * number) (fun i -> Some i) in
  let until = Unix.gettimeofday () +. seconds in
  while Unix.gettimeofday () < until && (parent = 0 || Unix.getppid () = parent) do
    ignore (Sys.opaque_identity (List.init 1000 (fun i -> i + number)));
    Unix.sleepf 0.005
  done;
  ignore (Sys.opaque_identity held)

let () =
  let count = int_of_string Sys.argv.(1) and seconds = float_of_string Sys.argv.(2) in
  let parent = Unix.getpid () in
  for number = 1 to count do
    if Unix.fork () = 0 then (work number seconds parent; exit 0)
  done;
  print_endline "ready";
  work 1 seconds 0;
  for _ = 1 to count do ignore (Unix.wait ()) done
