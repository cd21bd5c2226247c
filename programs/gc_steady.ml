(* A program whose collector has steady work: a table of 50,000 lists in which each round replaces one of them, so that what is alive stays the
   same size while all of it is replaced again and again. The argument is how many rounds (in thousands); a second one,
   "own", makes it set its own parameters. *)

let () =
  let rounds = 1_000 * int_of_string Sys.argv.(1) in
  if Array.length Sys.argv > 2 then
    Gc.set { (Gc.get ()) with minor_heap_size = 65_536; space_overhead = 80 };
  let table = Array.make 50_000 [] in
  let state = ref 1 in
  for _ = 1 to rounds do
    (* The numbers of a linear congruential generator: the same in each run. *)
    state := ((!state * 1_103_515_245) + 12_345) land 0x3fffffff;
    table.(!state mod 50_000) <- List.init 20 (fun n -> n + !state)
  done;
  Printf.printf "%d\n" (Array.fold_left (fun sum list -> sum + List.length list) 0 table)
