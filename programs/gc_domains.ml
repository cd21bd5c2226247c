(* Domains of OCaml 5 that allocate at once, each with a table of its own in which each round replaces a list: work for minor
   collections that stop all of them. The argument is how many rounds (in thousands) each has. *)

let work rounds seed () =
  let table = Array.make 10_000 [] in
  let state = ref seed in
  for _ = 1 to rounds do
    state := ((!state * 1_103_515_245) + 12_345) land 0x3fffffff;
    table.(!state mod 10_000) <- List.init 20 (fun n -> n + !state)
  done;
  Array.fold_left (fun sum list -> sum + List.length list) 0 table

let () =
  let rounds = 1_000 * int_of_string Sys.argv.(1) in
  let domains = List.init 3 (fun seed -> Domain.spawn (work rounds (seed + 2))) in
  let sum = List.fold_left (fun sum domain -> sum + Domain.join domain) (work rounds 1 ()) domains in
  Printf.printf "%d\n" sum
