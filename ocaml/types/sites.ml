open Types
open Typedtree
open Table

let closure_tag = 247
let lazy_tag = 246
let float_array_tag = 254

let boxed_tag name =
  match name with "float" -> Some (253, 1) | "int32" | "int64" | "nativeint" -> Some (255, 2) | _ -> None

let add ~unit frame structure =
  let frame = ref frame in
  let emit (loc : Location.t) kind ?tag ?words ?(what = "") type_ =
    let start = loc.loc_start in
    if start.pos_lnum > 0 && start.pos_cnum >= start.pos_bol && start.pos_fname <> "" then
      Table.site
        { unit; file = start.pos_fname; line = start.pos_lnum; start = start.pos_cnum - start.pos_bol;
          stop = max 0 (loc.loc_end.pos_cnum - start.pos_bol); site = kind; block_tag = tag; words; type_; what }
  in
  let convert ty = Convert.type_ (Convert.context !frame) ty in
  let is_function ty = match Compat.desc ty with Tarrow _ -> true | _ -> false in
  (* Blocks of a boxed number come from primitives of the compiler, and from those that return it unboxed. *)
  let primitive loc (p : Primitive.description) ty =
    let number = match Compat.desc ty with Tconstr (Path.Pident id, [], _) when Ident.is_predef id -> boxed_tag (Ident.name id) | _ -> None in
    let boxes = p.prim_name <> "" && p.prim_name.[0] = '%' || p.prim_native_repr_res <> Primitive.Same_as_ocaml_repr in
    match number with
    | Some (tag, words) when boxes -> emit loc S_primitive ~tag ~words ~what:p.prim_name (convert ty)
    | _ -> emit loc S_primitive ~what:p.prim_name (convert ty)
  in
  let record e fields representation =
    let words = Array.length fields in
    let emit = emit e.exp_loc S_record in
    match representation with
    | Record_regular -> emit ~tag:0 ~words (convert e.exp_type)
    | Record_float -> emit ~tag:float_array_tag ~words (convert e.exp_type)
    | Record_inlined tag -> emit ~tag ~words (convert e.exp_type)
    | Record_extension _ -> emit ~tag:0 ~words:(words + 1) (convert e.exp_type)
    | Record_unboxed _ -> ()
  in
  let constructor e (c : constructor_description) arguments =
    let what = c.cstr_name in
    let loc = e.exp_loc in
    match (c.cstr_tag, c.cstr_inlined, arguments) with
    | (Cstr_constant _ | Cstr_unboxed), _, _ | _, _, [] -> ()
    (* The record is the block, and its braces are where it is made. *)
    | Cstr_block tag, Some _, [ { exp_desc = Texp_record { fields; _ }; exp_loc; _ } ] ->
        let emit loc = emit loc S_constructor ~tag ~words:(Array.length fields) ~what (convert e.exp_type) in
        emit loc;
        emit exp_loc
    | Cstr_extension _, Some _, [ { exp_desc = Texp_record { fields; _ }; exp_loc; _ } ] ->
        let emit loc = emit loc S_extension ~tag:0 ~words:(1 + Array.length fields) ~what (convert e.exp_type) in
        emit loc;
        emit exp_loc
    | _, Some _, _ -> ()
    | Cstr_block tag, None, _ -> emit loc S_constructor ~tag ~words:(List.length arguments) ~what (convert e.exp_type)
    | Cstr_extension _, None, _ -> emit loc S_extension ~tag:0 ~words:(1 + List.length arguments) ~what (convert e.exp_type)
  in
  let lazy_ e body =
    let tag = match body.exp_desc with Texp_ident _ | Texp_constant _ -> None | _ -> Some lazy_tag in
    (* Both the suspension and its code carry the body's location. *)
    emit body.exp_loc S_lazy ?tag ~words:1 (convert e.exp_type);
    let unit_ = Convert.predefined "unit" [] in
    emit body.exp_loc S_closure ~tag:closure_tag (Table.type_ (Arrow ("", unit_, convert body.exp_type)))
  in
  let apply e f arguments =
    match f.exp_desc with
    | Texp_ident (_, _, { val_kind = Val_prim { prim_name = "%makemutable"; _ }; _ }) when not (is_function e.exp_type) ->
        emit e.exp_loc S_record ~tag:0 ~words:1 (convert e.exp_type)
    | Texp_ident (_, _, { val_kind = Val_prim p; _ }) ->
        if is_function e.exp_type then emit e.exp_loc S_partial ~tag:closure_tag ~what:p.prim_name (convert e.exp_type);
        if List.length arguments >= p.prim_arity then primitive e.exp_loc p e.exp_type
    | _ ->
        if is_function e.exp_type then emit e.exp_loc S_partial ~tag:closure_tag (convert e.exp_type)
        else emit e.exp_loc S_other (convert e.exp_type)
  in
  let expr (self : Tast_iterator.iterator) e =
    let loc = e.exp_loc in
    let other kind = emit loc kind (convert e.exp_type) in
    (match e.exp_desc with
    | Texp_construct (_, c, arguments) -> constructor e c arguments
    | Texp_variant (what, Some _) -> emit loc S_case ~tag:0 ~words:2 ~what (convert e.exp_type)
    | Texp_tuple parts -> emit loc S_tuple ~tag:0 ~words:(List.length parts) (convert e.exp_type)
    | Texp_record { fields; representation; _ } -> record e fields representation
    | Texp_array [] -> ()
    | Texp_array parts -> emit loc S_array ~words:(List.length parts) (convert e.exp_type)
    | Texp_function _ -> emit loc S_closure ~tag:closure_tag (convert e.exp_type)
    | Texp_lazy body -> lazy_ e body
    | Texp_apply (f, arguments) -> apply e f arguments
    | Texp_field (_, _, { lbl_repres = Record_float; _ }) -> emit loc S_other ~tag:253 ~words:1 (convert e.exp_type)
    | Texp_ident (_, _, { val_kind = Val_prim p; _ }) ->
        emit loc S_closure ~tag:closure_tag ~what:p.prim_name (convert e.exp_type)
    | Texp_object _ | Texp_new _ | Texp_override _ -> other S_object
    | Texp_pack m ->
        Modules.bind_module !frame None m;
        other S_module
    | Texp_letmodule (id, _, _, m, _) ->
        Modules.bind_module !frame id m;
        other S_other
    | Texp_letexception (e, _) -> Modules.bind_exception !frame e
    | Texp_open (o, _) -> Modules.bind_opened !frame o
    | Texp_ident _ | Texp_send _ | Texp_match _ | Texp_ifthenelse _ | Texp_let _ | Texp_try _ | Texp_sequence _ | Texp_field _
    | Texp_letop _ | Texp_assert _ ->
        other S_other
    | _ -> ());
    Tast_iterator.default_iterator.expr self e
  in
  let module_expr (self : Tast_iterator.iterator) m =
    let module_ () = emit m.mod_loc S_module (Table.type_ (Opaque "module")) in
    match m.mod_desc with
    | Tmod_functor _ ->
        emit m.mod_loc S_module ~tag:closure_tag (Table.type_ (Opaque "functor"));
        let around = !frame in
        frame := Modules.generic_frame around m;
        Tast_iterator.default_iterator.module_expr self m;
        frame := around
    | Tmod_structure _ | Tmod_constraint _ | Tmod_unpack _ | Tmod_apply _ ->
        module_ ();
        Tast_iterator.default_iterator.module_expr self m
    | _ -> Tast_iterator.default_iterator.module_expr self m
  in
  let class_expr (self : Tast_iterator.iterator) c =
    emit c.cl_loc S_other (Table.type_ (Opaque "class"));
    Tast_iterator.default_iterator.class_expr self c
  in
  let iterator = { Tast_iterator.default_iterator with expr; module_expr; class_expr } in
  iterator.structure iterator structure
