(* Names in OCaml syntax. *)

(* "Stdlib__Map" is Map, "Dune__exe__Main" is Main, "Lib__Tree" is Lib.Tree; the contents of Stdlib itself need no
   prefix. *)
let split name =
  let rec cut start i =
    if i + 1 >= String.length name then [ String.sub name start (String.length name - start) ]
    else if i > start && name.[i] = '_' && name.[i + 1] = '_' then
      String.sub name start (i - start) :: cut (i + 2) (i + 2)
    else cut start (i + 1)
  in
  List.filter (( <> ) "") (cut 0 0)

let unit name =
  match List.map String.capitalize_ascii (split name) with
  | [ "Stdlib" ] -> ""
  | "Stdlib" :: rest | "Dune" :: "Exe" :: rest -> String.concat "." rest
  | parts -> String.concat "." parts

let dot prefix name = if prefix = "" then name else prefix ^ "." ^ name

(* An unnamed module that is passed to a functor whose result has this name. *)
let argument name = name ^ "(argument)"

let is_argument name =
  let rec from i = i + 10 <= String.length name && (String.sub name i 10 = "(argument)" || from (i + 1)) in
  from 0

(* The result of a functor. *)
let is_applied name = String.contains name '('

let rec path = function
  | Path.Pident id when Ident.persistent id -> unit (Ident.name id)
  | Path.Pident id -> Ident.name id
  | Path.Pdot (prefix, name) -> dot (path prefix) name
  | Path.Papply (functor_, argument) -> Printf.sprintf "%s(%s)" (path functor_) (path argument)
  | other -> Path.name other
[@@warning "-11"]
