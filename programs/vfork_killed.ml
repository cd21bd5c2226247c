(* Has a child that shares its memory and is killed while it tries to execute a program; allocates before and afterwards. Moments are
   told by files in the working directory: "ready" and "died" are its own, "go" and "on" are waited for.
   Usage: vfork_killed COUNT *)

external vfork_and_die : unit -> int = "vfork_and_die"

let kept = ref []

let[@inline never] allocate count =
  for n = 1 to count do
    kept := [| n; n; n |] :: !kept
  done

let rec wait_for file = if not (Sys.file_exists file) then (Unix.sleepf 0.005; wait_for file)
let say file = close_out (open_out file)

let () =
  let count = int_of_string Sys.argv.(1) in
  allocate count;
  say "ready";
  wait_for "go";
  let signal = vfork_and_die () in
  say "died";
  wait_for "on";
  allocate count;
  Printf.printf "signal %d, %d kept\n" signal (List.length !kept)
