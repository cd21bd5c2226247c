(* Allocates COUNT arrays that it keeps, says so, and kills itself: nothing can be done at its end.
   Usage: killed COUNT [child]. With "child" a forked child does it, and the parent waits. *)

let kept = ref []

let[@inline never] allocate count =
  for n = 1 to count do
    kept := [| n; n; n |] :: !kept
  done

let work () =
  allocate (int_of_string Sys.argv.(1));
  Printf.printf "%d kept\n%!" (List.length !kept);
  Unix.kill (Unix.getpid ()) Sys.sigkill

let () =
  if Array.length Sys.argv > 2 then
    match Unix.fork () with
    | 0 -> work ()
    | child ->
        ignore (Unix.waitpid [] child);
        print_endline "the child is gone"
  else work ()
