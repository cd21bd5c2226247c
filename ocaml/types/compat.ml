(* What differs between compilers. A line that ends with a comment of versions is there for those only: build.sh
   drops the others. *)

open Types

let desc ty = (Btype.repr ty).desc (*! 4.11 4.12 4.13 *)
let same_node a b = Btype.repr a == Btype.repr b (*! 4.11 4.12 4.13 *)
let desc = get_desc (*! 4.14 5.0 5.1 5.2 5.3 *)
let same_node = eq_type (*! 4.14 5.0 5.1 5.2 5.3 *)

type kind =
  | Abstract
  | Record of label_declaration list * record_representation
  | Variant of constructor_declaration list * bool (* whether it is unboxed *)
  | Open

let kind decl =
  match decl.type_kind with
  | Type_abstract -> Abstract (*! 4.11 4.12 4.13 4.14 5.0 5.1 *)
  | Type_abstract _ -> Abstract (*! 5.2 5.3 *)
  | Type_record (labels, representation) -> Record (labels, representation)
  | Type_variant constructors -> Variant (constructors, decl.type_unboxed.unboxed) (*! 4.11 4.12 *)
  | Type_variant (constructors, how) -> Variant (constructors, how = Variant_unboxed) (*! 4.13 4.14 5.0 5.1 5.2 5.3 *)
  | Type_open -> Open

(* A row's cases with the types their arguments may have, all equal in the end; and whether there are no others. *)
let row row =
  let row = Btype.row_repr row in (*! 4.11 4.12 4.13 *)
  let fields = row.row_fields and is_closed = row.row_closed in (*! 4.11 4.12 4.13 *)
  let field = Btype.row_field_repr in (*! 4.11 4.12 4.13 *)
  let fields = row_fields row and is_closed = row_closed row in (*! 4.14 5.0 5.1 5.2 5.3 *)
  let field = row_field_repr in (*! 4.14 5.0 5.1 5.2 5.3 *)
  let case (label, of_) =
    match field of_ with
    | Rpresent argument -> Some (label, Option.to_list argument)
    | Reither (_, arguments, _, _) -> Some (label, arguments) (*! 4.11 4.12 4.13 *)
    | Reither (_, arguments, _) -> Some (label, arguments) (*! 4.14 5.0 5.1 5.2 5.3 *)
    | Rabsent -> None
  in
  (List.filter_map case fields, is_closed)

let method_is_present kind = Btype.field_kind_repr kind = Fpresent (*! 4.11 4.12 4.13 *)
let method_is_present kind = field_kind_repr kind = Fpublic (*! 4.14 5.0 5.1 5.2 5.3 *)

let package = function
  | Tpackage (path, names, types) -> Some (path, List.combine names types) (*! 4.11 4.12 *)
  | Tpackage (path, equations) -> Some (path, equations) (*! 4.13 4.14 5.0 5.1 5.2 5.3 *)
  | _ -> None

(* The type or else the extension constructor in which a record is written. Before 5.1, these have paths as if in a
   module. *)
let inlined = function
  | Path.Pextra_ty (path, Path.Pcstr_ty name) -> Some (path, Some name) (*! 5.1 5.2 5.3 *)
  | Path.Pextra_ty (path, Path.Pext_ty) -> Some (path, None) (*! 5.1 5.2 5.3 *)
  | (_ : Path.t) -> None

let bound pattern =
  let variable (id, _, ty) = (id, ty) in (*! 4.11 4.12 4.13 4.14 5.0 5.1 *)
  let variable (id, _, ty, _) = (id, ty) in (*! 5.2 5.3 *)
  List.map variable (Typedtree.pat_bound_idents_full pattern)

let applied = function
  | Typedtree.Tmod_apply (functor_, argument, _) -> Some (functor_, Some argument)
  | Typedtree.Tmod_apply_unit functor_ -> Some (functor_, None) (*! 5.1 5.2 5.3 *)
  | _ -> None

let is_method_call = function
  | Typedtree.Texp_send (_, Tmeth_name _, _) -> true (*! 4.11 4.12 4.13 *)
  | Typedtree.Texp_send (_, Tmeth_name _) -> true (*! 4.14 5.0 5.1 5.2 5.3 *)
  | _ -> false

let initial_env = Env.initial_safe_string (*! 4.11 4.12 4.13 4.14 *)
let initial_env = Env.initial (*! 5.0 5.1 5.2 5.3 *)

(* Whether [include struct .. end] without a signature stores what is in it one by one. *)
let flattens_plain_includes = false (*! 4.11 4.12 4.13 4.14 5.0 *)
let flattens_plain_includes = true (*! 5.1 5.2 5.3 *)
let load_path (cmt : Cmt_format.cmt_infos) = cmt.cmt_loadpath (*! 4.11 4.12 4.13 4.14 5.0 5.1 *)
let load_path (cmt : Cmt_format.cmt_infos) = cmt.cmt_loadpath.visible @ cmt.cmt_loadpath.hidden (*! 5.2 5.3 *)
