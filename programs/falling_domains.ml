(* Four domains that each make 20 million blocks of two words, for rates that fall as a trace grows. *)

let work () =
  for n = 1 to 20_000_000 do
    ignore (Sys.opaque_identity (ref n))
  done

let () =
  let others = List.init 3 (fun _ -> Domain.spawn work) in
  work ();
  List.iter Domain.join others;
  print_endline "done"
