(* What differs between compilers: OCaml 4.13. *)

open Types

let desc ty = (Ctype.repr ty).desc
let same_node a b = Ctype.repr a == Ctype.repr b
let node_id ty = (Ctype.repr ty).id

type kind =
  | Abstract
  | Record of label_declaration list * record_representation
  | Variant of constructor_declaration list * variant_representation
  | Open

let kind decl =
  match decl.type_kind with
  | Type_abstract -> Abstract
  | Type_record (labels, representation) -> Record (labels, representation)
  | Type_variant (constructors, representation) -> Variant (constructors, representation)
  | Type_open -> Open

(* A row's cases with the types their arguments may have, all equal in the end; and whether there are no others. *)
let row row =
  let row = Btype.row_repr row in
  let case (label, field) =
    match Btype.row_field_repr field with
    | Rpresent argument -> Some (label, Option.to_list argument)
    | Reither (_, arguments, _, _) -> Some (label, arguments)
    | Rabsent -> None
  in
  (List.filter_map case row.row_fields, row.row_closed)

let method_is_present kind = Btype.field_kind_repr kind = Fpresent
let package = function Tpackage (path, equations) -> Some (path, equations) | _ -> None

(* The constructor whose inlined record a type is, besides how 4.x names it, by [Pdot] of a type's or a constructor's path. *)
let inlined (_ : Path.t) : (Path.t * string option) option = None

let bound pattern =
  List.map (fun (id, _, ty) -> (id, ty)) (Typedtree.pat_bound_idents_full pattern)

let applied = function
  | Typedtree.Tmod_apply (functor_, argument, _) -> Some (functor_, Some argument)
  | _ -> None

let is_method_call = function
  | Typedtree.Texp_send (_, Typedtree.Tmeth_name _, _) -> true
  | _ -> false

let initial_env = Env.initial_safe_string

(* Whether [include struct .. end] without a signature stores what is in it one by one. *)
let flattens_plain_includes = false
let load_path (cmt : Cmt_format.cmt_infos) = cmt.cmt_loadpath
