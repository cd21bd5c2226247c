(* What the programs heap_*.ml have in common. Each builds a known structure and calls [ready], which collects
   until nothing dead is left, prints what the runtime says is alive, and waits at that moment: from
   there on nothing is put into the major heap, and nothing young stays reachable, so that whoever takes a
   snapshot has to find what is printed.

   Standard input says what happens then: `m` another full collection, anything else, or its end:
   the end. Standard output: `live BLOCKS WORDS`, then `ready`. *)

let collect () =
  for _ = 1 to 4 do
    Gc.full_major ()
  done

(* In a function of its own: the record of statistics, which is young, is forgotten when this returns. *)
let print_live () =
  let now = Gc.stat () in
  Printf.printf "live %d %d\n" now.Gc.live_blocks now.Gc.live_words

let announce () =
  collect ();
  print_live ()

let rec serve () =
  (* Reads without allocating. *)
  match input_char stdin with
  | 'm' ->
      collect ();
      print_string "again\n";
      flush stdout;
      serve ()
  | '\n' -> serve ()
  | _ -> ()
  | exception End_of_file -> ()

(* Does not return: what callers hold on their stacks is there to the end. *)
let ready () =
  announce ();
  print_string "ready\n";
  flush stdout;
  serve ();
  exit 0

(* What the compiler does not look into, so that it neither builds it at compile time nor drops it. *)
let keep value = ignore (Sys.opaque_identity value)
