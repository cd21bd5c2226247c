(* Recursion that goes deep and comes back, allocating at every level: stacks of many frames that share
   almost all of them with the stack before. *)

type tree = Leaf | Node of tree * int * tree

let rec count_up n = if n = 0 then [] else n :: count_up (n - 1)

let rec even n = if n = 0 then [ `Even ] else `Step n :: odd (n - 1)
and odd n = if n = 0 then [ `Odd ] else `Step n :: even (n - 1)

(* As deep as it is long. *)
let rec comb n = if n = 0 then Leaf else Node (Leaf, n, comb (n - 1))

let rec mirror = function Leaf -> Leaf | Node (l, n, r) -> Node (mirror r, n + 1, mirror l)
let rec sum = function Leaf -> 0 | Node (l, n, r) -> sum l + n + sum r

let rec ackermann m n =
  match (m, n) with
  | 0, n -> n + 1
  | m, 0 -> ackermann (m - 1) 1
  | m, n ->
      let inner = Sys.opaque_identity (ref (ackermann m (n - 1))) in
      ackermann (m - 1) !inner

(* Deep, then back up a little, then deep again. *)
let rec saw depth teeth =
  if depth > 0 then 1 + saw (depth - 1) teeth
  else
    List.fold_left (fun total tooth -> total + List.length (count_up (100 + tooth))) 0
      (List.init teeth Fun.id)

let () =
  Printf.printf "list: %d\n" (List.length (count_up 10_000));
  Printf.printf "mutual: %d\n" (List.length (even 5_001));
  Printf.printf "tree: %d\n" (sum (mirror (comb 5_000)));
  Printf.printf "ackermann: %d\n" (ackermann 2 60);
  Printf.printf "saw: %d\n" (saw 3_000 50);
  Printf.printf "fold: %d\n" (List.fold_right (fun n sum -> sum + n) (count_up 10_000) 0)
