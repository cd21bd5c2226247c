(* An executable at a fixed place that takes the address of `readlink`: for all libraries the function is then where the
   executable jumps to it, and its symbol has an address though it is defined elsewhere. *)

external uses_readlink : unit -> bool = "uses_readlink"

let () =
  let sum = List.fold_left ( + ) 0 (List.init 10_000 succ) in
  Printf.printf "%d %b\n" sum (uses_readlink ())
