(* Differences between compilers. A line that ends with a comment listing versions is only for these versions:
   build.sh drops the others. *)

open Types

let desc ty = (Btype.repr ty).desc (*! 4.11 4.12 4.13 *)
let same_node a b = Btype.repr a == Btype.repr b (*! 4.11 4.12 4.13 *)
let desc = get_desc (*! 4.14 5.0 5.1 5.2 5.3 5.4 5.5 *)
let same_node = eq_type (*! 4.14 5.0 5.1 5.2 5.3 5.4 5.5 *)

type constructor_description = Types.constructor_description (*! 4.11 4.12 4.13 4.14 5.0 5.1 5.2 5.3 *)
type constructor_description = Data_types.constructor_description (*! 5.4 5.5 *)

type kind =
  | Abstract
  | Record of label_declaration list * record_representation
  | Variant of constructor_declaration list * bool (* whether it is unboxed *)
  | Open

let kind decl =
  match decl.type_kind with
  | Type_abstract -> Abstract (*! 4.11 4.12 4.13 4.14 5.0 5.1 *)
  | Type_abstract _ -> Abstract (*! 5.2 5.3 5.4 5.5 *)
  | Type_record (labels, representation) -> Record (labels, representation)
  | Type_variant constructors -> Variant (constructors, decl.type_unboxed.unboxed) (*! 4.11 4.12 *)
  | Type_variant (constructors, how) -> Variant (constructors, how = Variant_unboxed) (*! 4.13 4.14 5.0 5.1 5.2 5.3 5.4 5.5 *)
  | Type_open -> Open
  | Type_external _ -> Abstract (*! 5.5 *)

(* The cases of a row with the possible types of their arguments, which are all equal in the end; and whether there
   are no other cases. *)
let row row =
  let row = Btype.row_repr row in (*! 4.11 4.12 4.13 *)
  let fields = row.row_fields and is_closed = row.row_closed in (*! 4.11 4.12 4.13 *)
  let field = Btype.row_field_repr in (*! 4.11 4.12 4.13 *)
  let fields = row_fields row and is_closed = row_closed row in (*! 4.14 5.0 5.1 5.2 5.3 5.4 5.5 *)
  let field = row_field_repr in (*! 4.14 5.0 5.1 5.2 5.3 5.4 5.5 *)
  let case (label, of_) =
    match field of_ with
    | Rpresent argument -> Some (label, Option.to_list argument)
    | Reither (_, arguments, _, _) -> Some (label, arguments) (*! 4.11 4.12 4.13 *)
    | Reither (_, arguments, _) -> Some (label, arguments) (*! 4.14 5.0 5.1 5.2 5.3 5.4 5.5 *)
    | Rabsent -> None
  in
  (List.filter_map case fields, is_closed)

let method_is_present kind = Btype.field_kind_repr kind = Fpresent (*! 4.11 4.12 4.13 *)
let method_is_present kind = field_kind_repr kind = Fpublic (*! 4.14 5.0 5.1 5.2 5.3 5.4 5.5 *)

(* The signature of a first-class module with its equations: the components of a type's name, and its definition. *)
let package = function
  | Tpackage (path, names, types) -> Some (path, List.map2 (fun id ty -> (Longident.flatten id, ty)) names types) (*! 4.11 4.12 *)
  | Tpackage (path, equations) -> Some (path, List.map (fun (id, ty) -> (Longident.flatten id, ty)) equations) (*! 4.13 4.14 5.0 5.1 5.2 5.3 *)
  | Tpackage { pack_path; pack_cstrs } -> Some (pack_path, pack_cstrs) (*! 5.4 *)
  | Tpackage { pack_path; pack_constraints } -> Some (pack_path, pack_constraints) (*! 5.5 *)
  | _ -> None

(* The digest by which a .cmt refers to its source. *)
let source_digest = Digest.file (*! 4.11 4.12 4.13 4.14 5.0 5.1 5.2 5.3 5.4 *)
let source_digest = Digest.BLAKE128.file (*! 5.5 *)

(* The parts of a tuple, or of its type, without their labels. *)
let parts parts = parts (*! 4.11 4.12 4.13 4.14 5.0 5.1 5.2 5.3 *)
let parts parts = List.map snd parts (*! 5.4 5.5 *)

let array = function
  | Typedtree.Texp_array parts -> Some parts (*! 4.11 4.12 4.13 4.14 5.0 5.1 5.2 5.3 *)
  | Typedtree.Texp_array (_, parts) -> Some parts (*! 5.4 5.5 *)
  | _ -> None

let is_given argument = argument <> None (*! 4.11 4.12 4.13 4.14 5.0 5.1 5.2 5.3 *)
let is_given = function Typedtree.Arg _ -> true | Omitted _ -> false (*! 5.4 5.5 *)

(* What [let module], [let exception] and [let open] declare. *)
type local =
  | Module of Ident.t option * Typedtree.module_expr
  | Exception of Typedtree.extension_constructor
  | Opened of Typedtree.open_declaration

let local = function
  | Typedtree.Texp_letmodule (id, _, _, m, _) -> Some (Module (id, m)) (*! 4.11 4.12 4.13 4.14 5.0 5.1 5.2 5.3 5.4 *)
  | Typedtree.Texp_letexception (e, _) -> Some (Exception e) (*! 4.11 4.12 4.13 4.14 5.0 5.1 5.2 5.3 5.4 *)
  | Typedtree.Texp_open (o, _) -> Some (Opened o) (*! 4.11 4.12 4.13 4.14 5.0 5.1 5.2 5.3 5.4 *)
  | Typedtree.Texp_struct_item ({ str_desc = Tstr_module m; _ }, _) -> Some (Module (m.mb_id, m.mb_expr)) (*! 5.5 *)
  | Typedtree.Texp_struct_item ({ str_desc = Tstr_exception e; _ }, _) -> Some (Exception e.tyexn_constructor) (*! 5.5 *)
  | Typedtree.Texp_struct_item ({ str_desc = Tstr_open o; _ }, _) -> Some (Opened o) (*! 5.5 *)
  | _ -> None

(* The type or extension constructor that defines an inline record. Before 5.1, inline records have paths as if they
   were in a module. *)
let inlined = function
  | Path.Pextra_ty (path, Path.Pcstr_ty name) -> Some (path, Some name) (*! 5.1 5.2 5.3 5.4 5.5 *)
  | Path.Pextra_ty (path, Path.Pext_ty) -> Some (path, None) (*! 5.1 5.2 5.3 5.4 5.5 *)
  | (_ : Path.t) -> None

let bound pattern =
  let variable (id, _, ty) = (id, ty) in (*! 4.11 4.12 4.13 4.14 5.0 5.1 *)
  let variable (id, _, ty, _) = (id, ty) in (*! 5.2 5.3 5.4 5.5 *)
  List.map variable (Typedtree.pat_bound_idents_full pattern)

(* The parameters of a function. For the cases at its end, without the variables bound by their patterns. *)
let parameters = function
  | Typedtree.Texp_function { param; cases = { c_lhs; _ } :: _; _ } -> [ (param, c_lhs.pat_type) ] (*! 4.11 4.12 4.13 4.14 5.0 5.1 *)
  | Typedtree.Texp_function (parameters, body) -> (*! 5.2 5.3 5.4 5.5 *)
      let parameter { Typedtree.fp_param; fp_kind; _ } = (*! 5.2 5.3 5.4 5.5 *)
        match fp_kind with (*! 5.2 5.3 5.4 5.5 *)
        | Tparam_pat pattern -> (fp_param, pattern.pat_type) :: bound pattern (*! 5.2 5.3 5.4 5.5 *)
        | Tparam_optional_default (pattern, _) -> bound pattern (*! 5.2 5.3 5.4 5.5 *)
      in (*! 5.2 5.3 5.4 5.5 *)
      let last = match body with Tfunction_cases { param; cases = { c_lhs; _ } :: _; _ } -> [ (param, c_lhs.pat_type) ] | _ -> [] in (*! 5.2 5.3 5.4 5.5 *)
      List.concat_map parameter parameters @ last (*! 5.2 5.3 5.4 5.5 *)
  | _ -> []

(* The parameters of a function that keep their names from the typed tree during compilation. *)
let named_parameters = function
  | Typedtree.Texp_function { param; _ } -> [ param ] (*! 4.11 4.12 4.13 4.14 5.0 5.1 *)
  | Typedtree.Texp_function (parameters, _) -> List.map (fun { Typedtree.fp_param; _ } -> fp_param) parameters (*! 5.2 5.3 5.4 5.5 *)
  | _ -> []

(* The function that is a function's body, if both take their arguments together. *)
let curried = function
  | Typedtree.Texp_function { cases = [ { c_guard = None; c_rhs; _ } ]; _ } -> Some c_rhs (*! 4.11 4.12 4.13 4.14 5.0 5.1 *)
  | _ -> None

let applied = function
  | Typedtree.Tmod_apply (functor_, argument, _) -> Some (functor_, Some argument)
  | Typedtree.Tmod_apply_unit functor_ -> Some (functor_, None) (*! 5.1 5.2 5.3 5.4 5.5 *)
  | _ -> None

let is_method_call = function
  | Typedtree.Texp_send (_, Tmeth_name _, _) -> true (*! 4.11 4.12 4.13 *)
  | Typedtree.Texp_send (_, Tmeth_name _) -> true (*! 4.14 5.0 5.1 5.2 5.3 5.4 5.5 *)
  | _ -> false

let initial_env = Env.initial_safe_string (*! 4.11 4.12 4.13 4.14 *)
let initial_env = Env.initial (*! 5.0 5.1 5.2 5.3 5.4 5.5 *)

(* Whether the components of [include struct .. end] without a signature are stored one by one. *)
let flattens_plain_includes = false (*! 4.11 4.12 4.13 4.14 5.0 *)
let flattens_plain_includes = true (*! 5.1 5.2 5.3 5.4 5.5 *)
let load_path (cmt : Cmt_format.cmt_infos) = cmt.cmt_loadpath (*! 4.11 4.12 4.13 4.14 5.0 5.1 *)
let load_path (cmt : Cmt_format.cmt_infos) = cmt.cmt_loadpath.visible @ cmt.cmt_loadpath.hidden (*! 5.2 5.3 5.4 5.5 *)
