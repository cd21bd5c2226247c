type t = { unit : int }

let of_unit unit = { unit }

(* [Ident] shows the number only in a text. *)
let stamp id =
  let text = Ident.unique_toplevel_name id in
  match String.rindex_opt text '/' with
  | Some slash -> int_of_string_opt (String.sub text (slash + 1) (String.length text - slash - 1))
  | None -> None

let add t id item =
  match stamp id with
  | Some stamp -> Table.variable { unit_of = t.unit; variable = Ident.name id; stamp; item }
  | None -> ()

let value t frame (id, ty) =
  if not (Convert.is_immediate ty) then add t id (Table.Value (Convert.type_ (Convert.context frame) ty))

let bound t slots = List.iter (fun (id, item) -> add t id (item ())) slots

let item t frame (item : Typedtree.structure_item) =
  match item.str_desc with Tstr_value _ -> () | _ -> bound t (Layouts.bound frame item)

let local t frame = function
  | Compat.Module (Some id, m) -> bound t [ (id, Layouts.module_ frame id m.mod_type) ]
  | Exception e -> bound t [ (e.ext_id, Layouts.extension frame e.ext_id) ]
  | Opened o -> bound t (Layouts.opened frame o)
  | Module (None, _) -> ()
