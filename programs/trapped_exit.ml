(* Ends by a signal handler written in C that comes while memory of 1 MiB is mapped, which is how whoever observes the
   program gets memory for small things: in the midst of that, with whatever lock that needs. There are many small
   things to note about cells that C allocates. With an argument the handler forks before. *)

external trap : bool -> unit = "trap"
external cells : int -> int list = "cells"

let () =
  trap (Array.length Sys.argv > 1);
  let list = cells 40_000 in
  print_endline (if List.length list = 40_000 then "not trapped" else "wrong")
