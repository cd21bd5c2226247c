(* The formulas of a prover: variables are renamed so that none is captured, and every renaming builds the formula
   anew, though hardly anything changes in it. (So did Alt-Ergo, which took 1.5 GB for a formula that needs a
   hundredth of it.) All of them are kept.

   Standard output: `recoverable WORDS`: what would be saved if formulas that are equal were shared, which the program
   knows from sharing them itself. Then what all programs heap_*.ml say. *)

type formula = Var of string | Not of formula | Infix of formula * operator * formula
and operator = And | Or | Equal

let conjuncts = 999
let renamings = 40

(* As a parser would: each name is a string of its own. *)
let rec conjunction n =
  let name = Printf.sprintf "variable%d" (n mod 50) in
  let equal = Infix (Var name, Equal, Not (Var (Sys.opaque_identity "x"))) in
  if n = 0 then equal else Infix (equal, And, conjunction (n - 1))

let rec rename from into formula =
  match formula with
  | Var name -> if String.equal name from then Var into else formula
  | Not inner -> Not (rename from into inner)
  | Infix (left, operator, right) ->
      let left = rename from into left in
      let right = rename from into right in
      Infix (left, operator, right) (* the constructor *)

(* The second half changes something in each twentieth conjunct. *)
let formulas =
  let original = conjunction conjuncts in
  let name n = if 2 * n < renamings then "absent" else Printf.sprintf "variable%d" n in
  original :: List.init renamings (fun n -> rename (name n) "renamed" original)

(* Words of all blocks of the formulas, counted once each; and of the different ones among them. *)
let recoverable () =
  let all = ref 0 and different = ref 0 in
  let seen = Hashtbl.create 1000 and strings = Hashtbl.create 1000 in
  let number key words =
    match Hashtbl.find_opt seen key with
    | Some number -> number
    | None ->
        different := !different + words;
        Hashtbl.add seen key (Hashtbl.length seen);
        Hashtbl.length seen - 1
  in
  (* Strings and variables are shared in part; physically equal ones are found among those of equal contents. *)
  let is_new value name =
    let known = Hashtbl.find_all strings name in
    (not (List.memq value known)) && (Hashtbl.add strings name value; true)
  in
  let is_static name = String.equal name "x" || String.equal name "renamed" in
  let rec visit formula =
    match formula with
    | Var name ->
        let words = if is_static name then 0 else 1 + (String.length name / 8) + 1 in
        if is_new (Obj.repr name) name then all := !all + words;
        let contents = number (0, [ Hashtbl.hash name ]) words in
        if is_new (Obj.repr formula) ("var " ^ name) then all := !all + 2;
        number (1, [ contents ]) 2
    | Not inner ->
        all := !all + 2;
        number (2, [ visit inner ]) 2
    | Infix (left, operator, right) ->
        all := !all + 4;
        let left = visit left in
        number (3 + Obj.magic operator, [ left; visit right ]) 4
  in
  List.iter (fun formula -> ignore (visit formula)) formulas;
  !all - !different

let () =
  Printf.printf "recoverable %d\n" (recoverable ());
  Heap_fixture.keep formulas;
  Heap_fixture.ready ()
