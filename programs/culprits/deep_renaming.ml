(* A renaming that is not tail recursive keeps, in each of its frames, the environment of its step until the last one is done. *)

module Names = Map.Make (String)

type formula = Var of string | Forall of string * formula

let rec quantified n = if n = 0 then Var "x0" else Forall (Printf.sprintf "x%d" (n mod 40), quantified (n - 1))

let fresh names name = Names.add name (Printf.sprintf "%s!%d" name (Names.cardinal names)) names

let wanted : (unit -> unit) ref = ref ignore

let rec rename names = function
  | Var name ->
    !wanted ();
    Var (try Names.find name names with Not_found -> name)
  | Forall (name, body) ->
    let names = Names.map (fun one -> one ^ "'") (fresh names name) in
    let renamed = rename names body in
    (* [names] is needed after the call, so each frame holds its own. *)
    Forall (Names.find name names, renamed)

let rec depth = function Var _ -> 0 | Forall (_, body) -> 1 + depth body

let () =
  let n = int_of_string Sys.argv.(1) in
  Printf.printf "%d\n" (depth (rename Names.empty (quantified n)))
