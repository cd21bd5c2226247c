(* Builds formulas and renames their variables again and again, keeping every result, as a prover did that
   gave Bactrian's forerunner its example: the heap only grows, and much of it is alike. For benches of snapshots.
   Usage: bench_formulas MEGABYTES [hold]. With `hold` it then works on lightly until its standard input ends,
   and says how long it stood still at most, in microseconds, since the last line that came. *)

type formula = { desc : desc; place : int * int }

and desc =
  | Var of string
  | Int of int
  | Infix of formula * operator * formula
  | Not of formula
  | Forall of string list * formula

and operator = And | Or | Equal

let conjuncts = 999

let rec conjunction n =
  let place = (n, n + 1) in
  let left = { desc = Var (if n mod 7 = 0 then "x" else "y"); place } in
  let right = { desc = Int n; place } in
  let equal = { desc = Infix (left, (if n mod 2 = 0 then Equal else Or), right); place } in
  if n = 0 then equal else { desc = Infix (equal, And, conjunction (n - 1)); place }

(* Rebuilds everything, also where nothing changes. *)
let rec rename from into formula =
  let desc =
    match formula.desc with
    | Var name -> Var (if name = from then into else name)
    | Int n -> Int n
    | Infix (left, operator, right) ->
        let left = rename from into left in
        Infix (left, operator, rename from into right)
    | Not inner -> Not (rename from into inner)
    | Forall (names, inner) when List.mem from names -> Forall (names, inner)
    | Forall (names, inner) -> Forall (names, rename from into inner)
  in
  { formula with desc }

let rec size formula =
  match formula.desc with
  | Var _ | Int _ -> 1
  | Infix (left, _, right) -> 1 + size left + size right
  | Not inner | Forall (_, inner) -> 1 + size inner

let kept = ref []

let build megabytes =
  let original = { desc = Forall ([ "z" ], conjunction conjuncts); place = (0, 0) } in
  (* What a renamed one takes that it does not share with the original. *)
  let words value = Obj.reachable_words (Obj.repr value) in
  let words = words (original, rename "x" "v" original) - words original in
  let total = ref 0 in
  for n = 1 to megabytes * 125_000 / words do
    let renamed = rename "x" (string_of_int n) original in
    (* Some passing work, as a prover has. *)
    total := !total + size (rename "y" "w" renamed);
    kept := renamed :: !kept
  done;
  !total

(* Short steps, each of which allocates and looks at the clock. *)
let rec work last longest =
  ignore (Sys.opaque_identity (List.init 20 Fun.id));
  let now = Unix.gettimeofday () in
  let longest = Float.max longest (now -. last) in
  match Unix.select [ Unix.stdin ] [] [] 0. with
  | [], _, _ | (exception Unix.Unix_error (Unix.EINTR, _, _)) -> work now longest
  | _ -> longest

let rec hold () =
  let longest = work (Unix.gettimeofday ()) 0. in
  (* Read before it is answered: the next line, which comes then, would be read with it, and select not see it. *)
  match input_line stdin with
  | _ ->
      Printf.printf "longest %.0f\n%!" (longest *. 1e6);
      hold ()
  | exception End_of_file -> ()

let () =
  let total = build (int_of_string Sys.argv.(1)) in
  Printf.printf "built %d\n%!" total;
  if Array.length Sys.argv > 2 then hold ()
