(* For `cargo xtask reach`: keeps some blocks of a type of its own and says "ready". Then it allocates: a moment, or, with the
   argument "on", until it is killed. *)

type node = { name : string; value : float; next : node option }

let kept = ref None

let rec grow n next =
  if n = 0 then next
  else grow (n - 1) (Some { name = string_of_int n; value = float_of_int n; next })

let work rounds =
  for _ = 1 to rounds do
    ignore (Sys.opaque_identity (grow 100 None))
  done

let () =
  kept := grow 10_000 None;
  print_endline "ready";
  work 1_000;
  while Array.length Sys.argv > 1 do
    work 100
  done;
  ignore (Sys.opaque_identity !kept)
