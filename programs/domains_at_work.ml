(* Four domains that allocate for 0.35 seconds, all the while. *)

let rec count_up n = if n = 0 then [] else n :: count_up (n - 1)

let work () =
  let start = Unix.gettimeofday () in
  while Unix.gettimeofday () -. start < 0.35 do
    ignore (Sys.opaque_identity (count_up 50))
  done

let () =
  let others = List.init 3 (fun _ -> Domain.spawn work) in
  work ();
  List.iter Domain.join others;
  print_endline "done"
