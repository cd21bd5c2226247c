(* The eight queens in list style: where bytecode allocates is known exactly. Columns are built once; a board
   is the list of its queens' columns, the last one first; all boards with one queen more are made by one
   List.map, and are checked without allocating. Of the 1 965 safe boards with fewer than eight queens, the
   empty one among them, each gets 8 more: 15 720 placements. So the cons in the closure and List.map each
   allocate 15 720 pairs: 31 440 words, headers not counted. *)

let size = 8

let columns = List.init size (fun i -> i)

let rec is_safe (queen : int) distance = function
  | [] -> true
  | other :: others ->
    other <> queen && abs (other - queen) <> distance && is_safe queen (distance + 1) others

let rec solutions board missing =
  if missing = 0 then 1
  else safe_solutions (List.map (fun queen -> queen :: board) columns) (missing - 1)

and safe_solutions boards missing =
  match boards with
  | [] -> 0
  | [] :: others -> safe_solutions others missing
  | ((queen :: earlier) as board) :: others ->
    let found = if is_safe queen 1 earlier then solutions board missing else 0 in
    found + safe_solutions others missing

let () = Printf.printf "%d queens: %d solutions\n" size (solutions [] size)
