(* Allocates enough for a rate that falls to have fallen, and forks a child that does so, too. *)

let[@inline never] work n =
  for n = 1 to n do
    ignore (Sys.opaque_identity (ref n))
  done

let () =
  work 10_000_000;
  match Unix.fork () with
  | 0 -> work 20_000_000
  | child -> (
      match snd (Unix.waitpid [] child) with
      | Unix.WEXITED 0 -> print_endline "done"
      | _ -> print_endline "the child failed")
