(* Ignores the end of its children, as servers do that start many, and collects until there are some snapshots: for tests of
   those who wait. Usage: ignores_children COUNT FOLDER. It does not wait for them for ever. *)

let snapshots folder =
  let is_one name = Filename.check_suffix name ".heap" in
  List.length (List.filter is_one (Array.to_list (Sys.readdir folder)))

let () =
  Sys.set_signal Sys.sigchld Sys.Signal_ignore;
  let wanted = int_of_string Sys.argv.(1) and folder = Sys.argv.(2) in
  let finish = Unix.gettimeofday () +. 100. in
  while snapshots folder < wanted && Unix.gettimeofday () < finish do
    Gc.full_major ();
    Unix.sleepf 0.05
  done;
  Printf.printf "enough: %b\n" (snapshots folder >= wanted)
