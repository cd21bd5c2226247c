type t = { unit : int; captures : Captures.t }

let of_unit unit captures = { unit; captures }

(* [Ident] gives access to the number only as part of a text. *)
let stamp id =
  let text = Ident.unique_toplevel_name id in
  match String.rindex_opt text '/' with
  | Some slash -> int_of_string_opt (String.sub text (slash + 1) (String.length text - slash - 1))
  | None -> None

type scope = Everywhere | Within of Location.t | Parameter_of of Location.t

let lines of_parameter (loc : Location.t) =
  let first = loc.loc_start.pos_lnum and last = loc.loc_end.pos_lnum and scope_file = loc.loc_start.pos_fname in
  if 0 < first && first <= last && scope_file <> "" then Some { Table.scope_file; first; last; of_parameter } else None

let capturable t scope id type_ = if scope <> Everywhere then Captures.local t.captures id type_

let add t scope id item =
  let scope = match scope with Everywhere -> None | Within loc -> lines false loc | Parameter_of loc -> lines true loc in
  match stamp id with
  | Some stamp -> Table.variable { unit_of = t.unit; variable = Ident.name id; stamp; item; scope }
  | None -> ()

let value t frame scope (id, ty) =
  if Convert.is_immediate ty then capturable t scope id None
  else begin
    let of_ = Convert.type_ (Convert.context frame) ty in
    capturable t scope id (Some of_);
    add t scope id (Table.Value of_)
  end

let bound t scope slots =
  let bind (id, item) =
    capturable t scope id None;
    add t scope id (item ())
  in
  List.iter bind slots

let item t frame scope (item : Typedtree.structure_item) =
  match item.str_desc with Tstr_value _ -> () | _ -> bound t scope (Layouts.bound frame item)

let local t frame scope = function
  | Compat.Module (Some id, m) -> bound t scope [ (id, Layouts.module_ frame id m.mod_type) ]
  | Exception e -> bound t scope [ (e.ext_id, Layouts.extension frame e.ext_id) ]
  | Opened o -> bound t scope (Layouts.opened frame o)
  | Module (None, _) -> ()
