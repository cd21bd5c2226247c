(* Compaction of a heap full of holes: every block moves, and its contents must not change. *)

let random = Random.State.make [| 11 |]

type item = Text of string | Pair of item * item | Floats of float array

let rec item depth =
  match Random.State.int random (if depth = 0 then 2 else 3) with
  | 0 -> Text (String.init (Random.State.int random 200) (fun i -> Char.chr (97 + (i mod 26))))
  | 1 -> Floats (Array.init (Random.State.int random 300) float_of_int)
  | _ -> Pair (item (depth - 1), item (depth - 1))

let rec checksum = function
  | Text text -> Hashtbl.hash text
  | Pair (a, b) -> ((checksum a * 31) + checksum b) land 0xffffff
  | Floats floats -> Array.fold_left (fun sum f -> (sum + int_of_float f) land 0xffffff) 7 floats

let checksums items = Array.fold_left (fun sum i -> ((sum * 17) + checksum i) land 0xffffff) 0 items

let () =
  let items = Array.init 3_000 (fun _ -> item 2) in
  for round = 1 to 3 do
    (* Holes, then compaction, then new blocks in between. *)
    Array.iteri (fun i _ -> if i mod 2 = round mod 2 then items.(i) <- Text "") items;
    let before = checksums items in
    Gc.compact ();
    let after = checksums items in
    Printf.printf "round %d: %x, the same after compaction: %b\n" round before (before = after);
    Array.iteri (fun i _ -> if i mod 4 = round mod 4 then items.(i) <- item 1) items
  done;
  let kept = Array.sub items 0 10 in
  Gc.full_major ();
  Gc.compact ();
  Printf.printf "kept: %x\n" (checksums kept)
