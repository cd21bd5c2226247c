(* Runs out of stack and goes on, in a recursion that allocates and in one that does not; also goes deep
   without running out. Frames are large, so that few of them fill the stack. *)

(* In words, and heard by OCaml 5 only; OCaml 4 takes the system's limit. *)
let () = Gc.set { (Gc.get ()) with Gc.stack_limit = 500_000 }

let kept = ref []

let rec silent a b c d e f g h i j =
  let below = silent b c d e f g h i j (a + 1) in
  a + b + c + d + e + f + g + h + i + j + below

let rec allocating a b c d e f g h i j =
  let pair = Sys.opaque_identity (a, j) in
  let below = allocating b c d e f g h i j (a + 1) in
  fst pair + b + c + d + e + f + g + h + i + j + below

let rec bounded n a b c d e f g h =
  if n = 0 then 0
  else
    let cell = Sys.opaque_identity [ a; n ] in
    let below = bounded (n - 1) b c d e f g h a in
    List.length cell + below + ((a + b + c + d + e + f + g + h) land 1)

(* OCaml 4.13 forgets what was allocated since the last call into C when the stack runs out; so let there
   be nothing that this program still needs. *)
let overflow name f =
  Gc.minor ();
  match f 1 2 3 4 5 6 7 8 9 10 with
  | n -> Printf.printf "%s: returned %d\n%!" name n
  | exception Stack_overflow -> Printf.printf "%s: stack overflow\n%!" name

let () =
  for round = 1 to 3 do
    overflow "silent" silent;
    overflow "allocating" allocating;
    (* The heap is as good as before. *)
    kept := List.init 1000 (fun n -> (round, n)) :: !kept;
    Gc.full_major ();
    Printf.printf "bounded: %d\n%!" (bounded 5_000 1 2 3 4 5 6 7 8)
  done;
  let sum = List.fold_left (fun sum (round, n) -> sum + (round * n)) 0 (List.concat !kept) in
  Printf.printf "kept: %d\n" sum
