(* What differs between compilers: OCaml 5.3. *)

open Types

let desc = get_desc
let same_node = eq_type
let node_id = get_id

type kind =
  | Abstract
  | Record of label_declaration list * record_representation
  | Variant of constructor_declaration list * variant_representation
  | Open

let kind decl =
  match decl.type_kind with
  | Type_abstract _ -> Abstract
  | Type_record (labels, representation) -> Record (labels, representation)
  | Type_variant (constructors, representation) -> Variant (constructors, representation)
  | Type_open -> Open

let row row =
  let case (label, field) =
    match row_field_repr field with
    | Rpresent argument -> Some (label, Option.to_list argument)
    | Reither (_, arguments, _) -> Some (label, arguments)
    | Rabsent -> None
  in
  (List.filter_map case (row_fields row), row_closed row)

let method_is_present kind = field_kind_repr kind = Fpublic
let package = function Tpackage (path, equations) -> Some (path, equations) | _ -> None

let inlined = function
  | Path.Pextra_ty (path, Path.Pcstr_ty name) -> Some (path, Some name)
  | Path.Pextra_ty (path, Path.Pext_ty) -> Some (path, None)
  | _ -> None

let bound pattern =
  List.map (fun (id, _, ty, _) -> (id, ty)) (Typedtree.pat_bound_idents_full pattern)

let applied = function
  | Typedtree.Tmod_apply (functor_, argument, _) -> Some (functor_, Some argument)
  | Typedtree.Tmod_apply_unit functor_ -> Some (functor_, None)
  | _ -> None

let is_method_call = function
  | Typedtree.Texp_send (_, Typedtree.Tmeth_name _) -> true
  | _ -> false

let initial_env = Env.initial
let flattens_plain_includes = true
let load_path (cmt : Cmt_format.cmt_infos) = cmt.cmt_loadpath.visible @ cmt.cmt_loadpath.hidden
