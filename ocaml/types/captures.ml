open Typedtree

type t = {
  unit : int;
  locals : (string, string * int option) Hashtbl.t; (* by unique name *)
  ordered : (string, unit) Hashtbl.t;
  aliases : (string, Path.t) Hashtbl.t;
  mutable groups : (expression * (expression list * Ident.t list)) list;
  mutable inner : expression list; (* functions that are compiled as one with the function around them *)
}

let of_unit unit =
  { unit; locals = Hashtbl.create 100; ordered = Hashtbl.create 100; aliases = Hashtbl.create 10; groups = []; inner = [] }

(* Unique names contain a number, which also determines their order. *)
let key id = Ident.unique_toplevel_name id
let local t id type_ = Hashtbl.replace t.locals (key id) (Ident.name id, type_)
let is_function e = match e.exp_desc with Texp_function _ -> true | _ -> false

let keep t id = Hashtbl.replace t.ordered (key id) ()
let parameters t desc = List.iter (keep t) (Compat.named_parameters desc)

(* Variables bound below a constructor or a record are fields of their own. *)
let rec parts : type k. t -> k general_pattern -> unit =
 fun t p ->
  match p.pat_desc with
  | Tpat_construct _ | Tpat_record _ | Tpat_variant _ | Tpat_array _ -> List.iter (fun (id, _) -> keep t id) (Compat.bound p)
  | Tpat_value p -> parts t (p :> value general_pattern)
  | _ -> ()

let binding t vb =
  match (vb.vb_pat.pat_desc, vb.vb_expr.exp_desc) with
  (* The name is an alias of the other variable. *)
  | Tpat_var _, Texp_ident ((Pident _ as p), _, _) -> List.iter (fun (id, _) -> Hashtbl.replace t.aliases (key id) p) (Compat.bound vb.vb_pat)
  | Tpat_var _, _ -> List.iter (fun (id, _) -> keep t id) (Compat.bound vb.vb_pat)
  | _ -> parts t vb.vb_pat

let case t c = parts t c.c_lhs

let together t bindings =
  let bodies = List.map (fun vb -> vb.vb_expr) bindings in
  let names = List.concat_map (fun vb -> List.map fst (Compat.bound vb.vb_pat)) bindings in
  if List.for_all is_function bodies then
    t.groups <- List.map (fun body -> (body, (bodies, names))) bodies @ t.groups

exception Unknown

let free t bodies =
  let found = Hashtbl.create 10 in
  let rec path p =
    match Path.head p with
    | exception _ -> raise Unknown
    | id -> (
        match (Hashtbl.find_opt t.aliases (key id), Hashtbl.find_opt t.locals (key id)) with
        | Some other, _ when is_local other -> path other
        | _, Some what -> if Hashtbl.mem t.ordered (key id) || Hashtbl.mem t.aliases (key id) then Hashtbl.replace found (key id) (id, what) else raise Unknown
        | _, None -> ())
  and is_local p = match Path.head p with id -> Hashtbl.mem t.locals (key id) | exception _ -> false in
  let expr (self : Tast_iterator.iterator) e =
    (match e.exp_desc with
    | Texp_ident (p, _, _) -> path p
    | Texp_construct (_, { cstr_tag = Cstr_extension (p, _); _ }, _) -> path p
    | Texp_letop { let_; ands; _ } -> List.iter (fun op -> path op.bop_op_path) (let_ :: ands)
    (* What else these capture is known only to the compiler. *)
    | Texp_object _ | Texp_new _ | Texp_instvar _ | Texp_setinstvar _ | Texp_override _ | Texp_send _ -> raise Unknown
    | _ -> ());
    Tast_iterator.default_iterator.expr self e
  in
  let module_expr (self : Tast_iterator.iterator) m =
    (match m.mod_desc with Tmod_ident (p, _) -> path p | _ -> ());
    Tast_iterator.default_iterator.module_expr self m
  in
  let iterator = { Tast_iterator.default_iterator with expr; module_expr } in
  List.iter (iterator.expr iterator) bodies;
  List.of_seq (Hashtbl.to_seq_values found)

let add t e =
  let bodies, names = match List.assq_opt e t.groups with Some group -> group | None -> ([ e ], []) in
  let loc = e.exp_loc in
  let first = loc.loc_start.pos_lnum and last = loc.loc_end.pos_lnum in
  match free t bodies with
  | exception Unknown -> ()
  | all ->
      let others = List.filter (fun (id, _) -> not (List.exists (Ident.same id) names)) all in
      let in_order = List.sort (fun (a, _) (b, _) -> Ident.compare a b) others in
      if in_order <> [] && 0 < first && first <= last && loc.loc_start.pos_fname <> "" then
        ignore
          (Table.Rows.add Table.functions
             { function_unit = t.unit; function_file = loc.loc_start.pos_fname; from_line = first; to_line = last;
               captured = List.map snd in_order })

let expression t e =
  if is_function e && not Config.flambda then begin
    (match Compat.curried e.exp_desc with Some body when is_function body -> t.inner <- body :: t.inner | _ -> ());
    if List.memq e t.inner then t.inner <- List.filter (fun other -> other != e) t.inner else add t e
  end
