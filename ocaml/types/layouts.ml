open Types
open Typedtree

type space = Value | Extension | Module | Class

(* A field of a module's block; [item] is called only if the field is needed. *)
type slot = { id : Ident.t; space : space; item : unit -> Table.item }

let value frame ty () = Table.Value (Convert.type_ (Convert.context frame) ty)

let extension frame id () =
  match Modules.extension_of_ident frame id with
  | Some e -> Table.Extension (Convert.extension e)
  | None -> Table.Other "constructor"

let class_ id = { id; space = Class; item = (fun () -> Table.Other "class") }

let add name slots public =
  let fields = List.map (fun slot -> (Ident.name slot.id, slot.item ())) slots in
  Table.Rows.add Table.layouts { layout = name; fields; public }

(* Primitives and aliases of other modules have no field. *)
let rec of_signature frame signature =
  let slot = function
    | Sig_value (id, { val_kind = Val_reg; val_type; _ }, _) -> Some { id; space = Value; item = value frame val_type }
    | Sig_typext (id, _, _, _) -> Some { id; space = Extension; item = extension frame id }
    | Sig_module (id, Mp_present, md, _, _) -> Some { id; space = Module; item = module_ frame id md.md_type }
    | Sig_class (id, _, _, _) -> Some (class_ id)
    | Sig_value _ | Sig_type _ | Sig_module _ | Sig_modtype _ | Sig_class_type _ -> None
  in
  List.filter_map slot signature

and module_ frame id mty () =
  let m = Modules.module_of_ident frame id in
  of_module frame (match m with Modules.Unknown _ -> Ident.name id | m -> Modules.name m) mty m

and of_module frame name mty m =
  match Modules.scrape frame mty with
  | scope, Mty_signature signature ->
      let slots = of_signature (Modules.view scope m signature) signature in
      Table.Module (add name slots (List.length slots))
  | _, Mty_functor _ -> Table.Other "functor"
  | _, (Mty_ident _ | Mty_alias _) -> Table.Other "module"

let of_item frame item =
  let extension (e : extension_constructor) = { id = e.ext_id; space = Extension; item = extension frame e.ext_id } in
  let bound mb =
    match mb.mb_id with
    | Some id when mb.mb_presence = Mp_present -> [ { id; space = Module; item = module_ frame id mb.mb_expr.mod_type } ]
    | _ -> []
  in
  match item.str_desc with
  | Tstr_value (_, bindings) ->
      let variable (id, ty) = { id; space = Value; item = value frame ty } in
      List.concat_map (fun vb -> List.map variable (Compat.bound vb.vb_pat)) bindings
  | Tstr_typext e -> List.map extension e.tyext_constructors
  | Tstr_exception e -> [ extension e.tyexn_constructor ]
  | Tstr_module mb -> bound mb
  | Tstr_recmodule mbs -> List.concat_map bound mbs
  | Tstr_open o -> of_signature frame o.open_bound_items
  | Tstr_include i -> of_signature frame i.incl_type
  | Tstr_class cs -> List.map (fun (c, _) -> class_ c.ci_id_class) cs
  | Tstr_eval _ | Tstr_primitive _ | Tstr_type _ | Tstr_modtype _ | Tstr_class_type _ | Tstr_attribute _ -> []

let shown slots = List.map (fun slot -> (slot.id, slot.item)) slots
let bound frame item = shown (of_item frame item)
let opened frame (o : open_declaration) = shown (of_signature frame o.open_bound_items)

(* Native code also stores the components of structures inside the unit in fields of the unit's block. *)
let flattened item =
  let plain m = match m.mod_desc with Tmod_structure s -> s.str_items | _ -> [] in
  let constrained m = match m.mod_desc with Tmod_constraint (m, _, _, _) -> plain m | _ -> [] in
  match item.str_desc with
  | Tstr_module { mb_presence = Mp_present; mb_expr; _ } -> plain mb_expr @ constrained mb_expr
  | Tstr_open o -> plain o.open_expr
  | Tstr_include i -> (if Compat.flattens_plain_includes then plain i.incl_mod else []) @ constrained i.incl_mod
  | _ -> []

let is_anonymous item = match item.str_desc with Tstr_module { mb_id = None; _ } -> true | _ -> false

let rec all frame items =
  List.concat_map
    (fun item -> if is_anonymous item then [] else of_item frame item @ all frame (flattened item))
    items

(* Method calls in code that may run often use a cache, which is stored in a last field. *)
let calls_methods structure =
  let found = ref false and is_repeated = ref false in
  let expr (self : Tast_iterator.iterator) e =
    if Compat.is_method_call e.exp_desc && !is_repeated then found := true;
    let before = !is_repeated in
    (match e.exp_desc with Texp_function _ | Texp_for _ | Texp_while _ -> is_repeated := true | _ -> ());
    Tast_iterator.default_iterator.expr self e;
    is_repeated := before
  in
  let iterator = { Tast_iterator.default_iterator with expr } in
  iterator.structure iterator structure;
  !found

let of_unit frame m name structure ~interface =
  let defined = List.concat_map (of_item frame) structure.str_items in
  let more = List.concat_map (fun item -> all frame (flattened item)) structure.str_items in
  let shown = of_signature (Modules.view frame m interface) interface in
  let is_same a b = a.space = b.space && Ident.name a.id = Ident.name b.id in
  let last slot = List.find_opt (is_same slot) (List.rev defined) in
  (* Modules are stored in the form that the interface shows; for other items the implementation knows more. *)
  let public slot = match (slot.space, last slot) with (Value | Extension), Some own -> own | _ -> slot in
  let taken = List.filter_map last shown in
  let hidden = List.filter (fun slot -> not (List.memq slot taken)) defined in
  let cache =
    if calls_methods structure then
      [ { id = Ident.create_local "method cache"; space = Value; item = (fun () -> Table.Other "method cache") } ]
    else []
  in
  add name (List.map public shown @ hidden @ more @ cache) (List.length shown)

let packages : (Types.module_type * string * int) list ref = ref []

(* The number exists before the fields do, because a module may contain values of its own module type. *)
let of_package frame name path equations =
  let mty = Mty_ident path in
  let scope, mty = Modules.scrape frame mty in
  match List.find_opt (fun (known, known_name, _) -> known == mty && known_name = name) !packages with
  | Some (_, _, number) -> number
  | None ->
      let number = Table.Rows.add Table.layouts { layout = name; fields = []; public = 0 } in
      packages := (mty, name, number) :: !packages;
      (match mty with
      | Mty_signature signature ->
          let m = Modules.of_value scope (Modules.module_type_name frame path) mty in
          List.iter (function [ id ], ty -> Modules.equate m id frame ty | _ -> ()) equations;
          let slots = of_signature (Modules.view scope m signature) signature in
          let row = Table.Rows.get Table.layouts number in
          row.fields <- List.map (fun slot -> (Ident.name slot.id, slot.item ())) slots;
          row.public <- List.length slots
      | _ -> ());
      number

let () = Convert.layout_of_package := of_package
