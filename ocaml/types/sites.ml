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
  let captures = Captures.of_unit unit in
  let variables = Variables.of_unit unit captures in
  (* Where the variables bound by a [let] are in scope: in all that follows, or in an expression or a functor. *)
  let within = ref Variables.Everywhere in
  let variable scope known = Variables.value variables !frame scope known in
  let emit (loc : Location.t) kind ?tag ?words ?(what = "") type_ =
    let start = loc.loc_start in
    if start.pos_lnum > 0 && start.pos_cnum >= start.pos_bol && start.pos_fname <> "" then
      Table.site
        { unit; file = start.pos_fname; line = start.pos_lnum; start = start.pos_cnum - start.pos_bol;
          stop = max 0 (loc.loc_end.pos_cnum - start.pos_bol); site = kind; block_tag = tag; words; type_; what }
  in
  (* An expression whose value is never a block says nothing about blocks allocated during its evaluation. *)
  let is_immediate = Convert.is_immediate in
  let convert ty = Convert.type_ (Convert.context !frame) ty in
  let is_function ty = Convert.is_function (Convert.context !frame) ty in
  (* Boxed numbers come from the compiler's primitives, and from those that return numbers unboxed. *)
  let boxed (p : Primitive.description) ty =
    match Compat.desc ty with
    | Tconstr (Path.Pident id, [], _)
      when Ident.is_predef id && (p.prim_name.[0] = '%' || p.prim_native_repr_res <> Primitive.Same_as_ocaml_repr) ->
        boxed_tag (Ident.name id)
    | _ -> None
  in
  let primitive loc (p : Primitive.description) ty =
    match boxed p ty with
    | Some (tag, words) -> emit loc S_primitive ~tag ~words ~what:p.prim_name (convert ty)
    | _ -> if not (is_immediate ty) then emit loc S_primitive ~what:p.prim_name (convert ty)
  in
  (* A number computed for a field may be boxed where the block is made. *)
  let boxed_for loc argument =
    match argument.exp_desc with
    | Texp_apply ({ exp_desc = Texp_ident (_, _, { val_kind = Val_prim p; _ }); _ }, _) ->
        if boxed p argument.exp_type <> None then primitive loc p argument.exp_type
    | _ -> ()
  in
  let record e fields representation =
    let words = Array.length fields in
    match representation with
    | Record_regular -> emit e.exp_loc S_record ~tag:0 ~words (convert e.exp_type)
    | Record_float -> emit e.exp_loc S_record ~tag:float_array_tag ~words (convert e.exp_type)
    (* Inline records belong to their constructor. *)
    | Record_inlined _ | Record_extension _ | Record_unboxed _ -> ()
  in
  let constructor e (c : Compat.constructor_description) arguments =
    let what = c.cstr_name in
    let loc = e.exp_loc in
    match (c.cstr_tag, c.cstr_inlined, arguments) with
    | (Cstr_constant _ | Cstr_unboxed), _, _ | _, _, [] -> ()
    (* The record is the constructor's block, which is allocated at the location of its braces. *)
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
    (* Both the suspension and its code have the body's location. *)
    emit body.exp_loc S_lazy ?tag ~words:1 (convert e.exp_type);
    let unit_ = Convert.predefined "unit" [] in
    emit body.exp_loc S_closure ~tag:closure_tag (Table.type_ (Arrow ("", unit_, convert body.exp_type)))
  in
  let other e = if not (is_immediate e.exp_type) then emit e.exp_loc S_other (convert e.exp_type) in
  let apply e f arguments =
    let given = List.length (List.filter (fun (_, argument) -> Compat.is_given argument) arguments) in
    match f.exp_desc with
    | Texp_ident (_, _, { val_kind = Val_prim p; _ }) when given = p.prim_arity ->
        if p.prim_name = "%makemutable" then emit e.exp_loc S_record ~tag:0 ~words:1 (convert e.exp_type)
        else primitive e.exp_loc p e.exp_type
    | _ when is_function e.exp_type -> emit e.exp_loc S_partial ~tag:closure_tag (convert e.exp_type)
    | _ -> other e
  in
  (* The block that represents an exception or another constructor of an open type. *)
  let made_constructor loc = emit loc S_other ~tag:248 ~words:2 (Convert.predefined "extension_constructor" []) in
  let expr (self : Tast_iterator.iterator) e =
    let loc = e.exp_loc in
    let boxed_for = List.iter (boxed_for loc) in
    let around = !within in
    Captures.expression captures e;
    Captures.parameters captures e.exp_desc;
    List.iter (variable (Variables.Parameter_of loc)) (Compat.parameters e.exp_desc);
    (match e.exp_desc with
    | Texp_construct (_, c, arguments) ->
        constructor e c arguments;
        boxed_for arguments
    | Texp_variant (what, Some argument) ->
        emit loc S_case ~tag:0 ~words:2 ~what (convert e.exp_type);
        boxed_for [ argument ]
    | Texp_tuple parts ->
        let parts = Compat.parts parts in
        emit loc S_tuple ~tag:0 ~words:(List.length parts) (convert e.exp_type);
        boxed_for parts
    | Texp_record { fields; representation; _ } ->
        record e fields representation;
        Array.iter (function _, Overridden (_, value) -> boxed_for [ value ] | _ -> ()) fields
    | Texp_function _ -> emit loc S_closure ~tag:closure_tag (convert e.exp_type)
    | Texp_lazy body -> lazy_ e body
    | Texp_apply (f, arguments) -> apply e f arguments
    | Texp_field (_, _, { lbl_repres = Record_float; _ }) -> emit loc S_other ~tag:253 ~words:1 (convert e.exp_type)
    | Texp_ident (_, _, { val_kind = Val_prim p; _ }) ->
        emit loc S_closure ~tag:closure_tag ~what:p.prim_name (convert e.exp_type)
    | Texp_object _ | Texp_new _ | Texp_override _ -> emit loc S_object (convert e.exp_type)
    | Texp_pack m ->
        Modules.bind_module !frame None m;
        emit loc S_module (convert e.exp_type)
    | Texp_letop { body; _ } ->
        (* The rest is a function, which has the location of its body. *)
        emit body.c_rhs.exp_loc S_closure ~tag:closure_tag
          (Table.type_ (Arrow ("", convert body.c_lhs.pat_type, convert body.c_rhs.exp_type)));
        other e
    | Texp_send _ -> other e
    | desc -> (
        (match Compat.array desc with
        | None | Some [] -> ()
        | Some parts -> emit loc S_array ~words:(List.length parts) (convert e.exp_type));
        let local = Compat.local desc in
        (match local with
        | Some (Module (id, m)) -> Modules.bind_module !frame id m
        | Some (Exception e) ->
            made_constructor e.ext_loc;
            Modules.bind_exception !frame e
        | Some (Opened o) -> Modules.bind_opened !frame o
        | None -> ());
        Option.iter (Variables.local variables !frame (Within loc)) local;
        match desc with
        | Texp_let (recursive, bindings, _) ->
            if recursive = Recursive then Captures.together captures bindings;
            within := Within loc
        | _ -> if Option.is_some local then within := Within loc));
    Tast_iterator.default_iterator.expr self e;
    within := around
  in
  let module_at loc m =
    match m.mod_desc with
    | Tmod_functor _ -> emit loc S_module ~tag:closure_tag (Table.type_ (Opaque "functor"))
    | Tmod_structure _ | Tmod_constraint _ | Tmod_unpack _ | Tmod_apply _ -> emit loc S_module (Table.type_ (Opaque "module"))
    | _ -> ()
  in
  (* The block made by a functor has the location of what the functor is bound to. *)
  let body_at loc around m =
    let rec of_ frame m =
      match m.mod_desc with
      | Tmod_functor (_, body) ->
          let inside, made = Modules.generic frame m in
          (match body.mod_desc with
          | Tmod_functor _ -> of_ inside body
          | _ -> (
              match Layouts.of_module inside (Modules.name made) body.mod_type made with
              | Module layout ->
                  let words = List.length (Rows.get layouts layout).fields in
                  emit loc S_module ~tag:0 ~words (Table.type_ (Package (Modules.name made, layout)))
              | _ -> ()))
      | _ -> ()
    in
    of_ around m
  in
  let module_binding (self : Tast_iterator.iterator) mb =
    module_at mb.mb_loc mb.mb_expr;
    body_at mb.mb_loc !frame mb.mb_expr;
    Tast_iterator.default_iterator.module_binding self mb
  in
  let module_expr (self : Tast_iterator.iterator) m =
    module_at m.mod_loc m;
    let around = !frame and within_around = !within in
    (match m.mod_desc with
    | Tmod_functor _ ->
        frame := fst (Modules.generic around m);
        within := Within m.mod_loc
    | _ -> ());
    Tast_iterator.default_iterator.module_expr self m;
    frame := around;
    within := within_around
  in
  let class_expr (self : Tast_iterator.iterator) c =
    emit c.cl_loc S_other (Table.type_ (Opaque "class"));
    Tast_iterator.default_iterator.class_expr self c
  in
  let structure_item (self : Tast_iterator.iterator) i =
    (match i.str_desc with
    | Tstr_value (Recursive, bindings) -> Captures.together captures bindings
    | Tstr_exception e -> made_constructor e.tyexn_constructor.ext_loc
    | Tstr_typext e -> List.iter (fun (e : extension_constructor) -> made_constructor e.ext_loc) e.tyext_constructors
    | _ -> ());
    Variables.item variables !frame !within i;
    Tast_iterator.default_iterator.structure_item self i
  in
  let case (type k) (self : Tast_iterator.iterator) (c : k Typedtree.case) =
    Captures.case captures c;
    let scope = { c.c_lhs.pat_loc with loc_end = c.c_rhs.exp_loc.loc_end } in
    List.iter (variable (Variables.Within scope)) (Compat.bound c.c_lhs);
    Tast_iterator.default_iterator.case self c
  in
  let value_binding (self : Tast_iterator.iterator) vb =
    Captures.binding captures vb;
    List.iter (variable !within) (Compat.bound vb.vb_pat);
    Tast_iterator.default_iterator.value_binding self vb
  in
  let iterator = { Tast_iterator.default_iterator with expr; case; value_binding; structure_item; module_binding; module_expr; class_expr } in
  iterator.structure iterator structure
