open Ppxlib

(* The payload of an attribute: comma-separated items. *)
type wish = { name : string option; what : string list; is_off : bool }

let nothing_said = { name = None; what = []; is_off = false }
let of_functions = [ "calls"; "time" ]
let of_refs = [ "int"; "float"; "bool"; "string" ]
let known = of_functions @ of_refs @ [ "table" ]

let add wish item =
  match item.pexp_desc with
  | Pexp_constant (Pconst_string (name, _, _)) -> { wish with name = Some name }
  | Pexp_ident { txt = Lident "off"; _ } -> { wish with is_off = true }
  | Pexp_ident { txt = Lident what; _ } when List.mem what known -> { wish with what = what :: wish.what }
  | _ ->
      Location.raise_errorf ~loc:item.pexp_loc "observe: expected a quoted name or one of %s, off"
        (String.concat ", " known)

(* The immediate subexpressions. The representation of tuples differs between versions of ppxlib. *)
let parts expression =
  let collect =
    object
      inherit [expression list] Ast_traverse.fold
      method! expression part found = part :: found
    end
  in
  List.rev (collect#expression_desc expression.pexp_desc [])

let wish_of attribute =
  match attribute.attr_payload with
  | PStr [] -> nothing_said
  | PStr [ { pstr_desc = Pstr_eval (({ pexp_desc = Pexp_tuple _; _ } as items), []); _ } ] ->
      List.fold_left add nothing_said (parts items)
  | PStr [ { pstr_desc = Pstr_eval (item, []); _ } ] -> add nothing_said item
  | _ -> Location.raise_errorf ~loc:attribute.attr_loc "observe: expected a comma-separated list of items"

let is_ours attribute = List.mem attribute.attr_name.txt [ "observe"; "bactrian.observe" ]

let estring = Ast_builder.Default.estring
let evar ~loc name = Ast_builder.Default.pexp_ident ~loc { txt = Lident name; loc }
let pvar = Ast_builder.Default.pvar

(* Names the argument of cases [observed]. *)
let outermost expression = Functions.outermost ~observed:(pvar ~loc:expression.pexp_loc "observed") expression

(* What can be observed of an expression. *)
type subject = Function | Table | Ref of string option (* the type of its contents, if known *) | Nothing

let rec subject_of expression =
  match outermost expression with
  | Some ([], Functions.Body (inner, _)) -> subject_of inner
  | Some _ -> Function
  | None -> subject_of_value expression

and subject_of_value expression =
  match expression.pexp_desc with
  | Pexp_constraint (inner, _) | Pexp_open (_, inner) -> subject_of inner
  | Pexp_apply ({ pexp_desc = Pexp_ident { txt; _ }; _ }, (_, argument) :: _) -> (
      match (txt, argument.pexp_desc) with
      | (Ldot (Lident "Hashtbl", "create") | Ldot (Ldot (Lident "Stdlib", "Hashtbl"), "create")), _ -> Table
      | (Lident "ref" | Ldot (Lident "Stdlib", "ref")), Pexp_constant (Pconst_integer (_, None)) -> Ref (Some "int")
      | (Lident "ref" | Ldot (Lident "Stdlib", "ref")), Pexp_constant (Pconst_float (_, None)) -> Ref (Some "float")
      | (Lident "ref" | Ldot (Lident "Stdlib", "ref")), Pexp_constant (Pconst_string _) -> Ref (Some "string")
      | (Lident "ref" | Ldot (Lident "Stdlib", "ref")), Pexp_construct ({ txt = Lident ("true" | "false"); _ }, None) ->
          Ref (Some "bool")
      | (Lident "ref" | Ldot (Lident "Stdlib", "ref")), _ -> Ref None
      | _ -> Nothing)
  | _ -> Nothing

let rec variable pattern =
  match pattern.ppat_desc with
  | Ppat_var { txt; _ } -> Some txt
  | Ppat_constraint (inner, _) -> variable inner
  | _ -> None

(* Inserts [first; ..] at the start of the body, after a function has received all its arguments. *)
let rec before_body first expression =
  let loc = expression.pexp_loc in
  match (outermost expression, expression.pexp_desc) with
  | Some (_, Functions.Body (inner, again)), _ -> again (before_body first inner)
  | Some (_, Functions.Cases (cases, again)), _ ->
      again (before_body first (Ast_builder.Default.pexp_match ~loc (evar ~loc "observed") cases))
  | None, Pexp_constraint (inner, type_) when subject_of inner = Function ->
      { expression with pexp_desc = Pexp_constraint (before_body first inner, type_) }
  | None, Pexp_open (what, inner) when subject_of inner = Function ->
      { expression with pexp_desc = Pexp_open (what, before_body first inner) }
  | None, _ -> [%expr [%e first]; [%e expression]]

let rec labels expression =
  match (outermost expression, expression.pexp_desc) with
  | Some (labels_here, Functions.Body (inner, _)), _ -> labels_here @ labels inner
  | Some (labels_here, Functions.Cases _), _ -> labels_here
  | None, (Pexp_constraint (inner, _) | Pexp_open (_, inner)) when subject_of inner = Function -> labels inner
  | None, _ -> []

(* A function with the same arguments that calls the function [name] and measures the time of the call. Recursive calls
   go to the inner function, so that tail calls remain tail calls and nested calls are not timed twice. *)
let timed ~loc name time labels =
  let argument index label =
    match label with Nolabel -> Printf.sprintf "observed%d" index | Labelled name | Optional name -> name
  in
  let names = List.mapi argument labels in
  let call =
    Ast_builder.Default.pexp_apply ~loc (evar ~loc name) (List.map2 (fun label name -> (label, evar ~loc name)) labels names)
  in
  let time = evar ~loc time in
  let body =
    [%expr
      Bactrian.Time.enter [%e time];
      match [%e call] with
      | observed_result ->
          Bactrian.Time.leave [%e time];
          observed_result
      | exception observed_exception -> Bactrian.Time.leave_and_raise [%e time] observed_exception]
  in
  List.fold_right2
    (fun label name body -> Ast_builder.Default.pexp_fun ~loc label None (pvar ~loc name) body)
    labels names body

let define ~loc name expression =
  [%stri open struct let [%p pvar ~loc name] = [%e expression] end]

(* A binding, with items to insert before and after its group of bindings. *)
type observed = { before : structure; binding : value_binding; after : structure }

let plain binding = { before = []; binding; after = [] }

let observe_function ~loc ~shown ~name what binding =
  let wants item = what = [] || List.mem item what in
  let calls = "observed_calls_of_" ^ name and time = "observed_time_of_" ^ name in
  let arguments = labels binding.pvb_expr in
  let before, binding =
    if not (wants "calls") then ([], binding)
    else
      let count = [%expr Bactrian.Point.observe [%e evar ~loc calls]] in
      ( [ define ~loc calls [%expr Bactrian.Point.create [%e estring ~loc shown]] ],
        { binding with pvb_expr = before_body count binding.pvb_expr } )
  in
  let after =
    if not (wants "time") then []
    else
      [ define ~loc time [%expr Bactrian.Time.create [%e estring ~loc shown]];
        [%stri let [%p pvar ~loc name] = [%e timed ~loc name time arguments]] ]
  in
  { before; binding; after }

let observe_ref ~loc ~shown type_ binding =
  let observe =
    match type_ with
    | "int" -> [%expr Bactrian.Value.int_ref]
    | "float" -> [%expr Bactrian.Value.float_ref]
    | "bool" -> [%expr Bactrian.Value.bool_ref]
    | _ -> [%expr Bactrian.Value.string_ref]
  in
  let expression =
    [%expr
      let observed = [%e binding.pvb_expr] in
      ignore ([%e observe] [%e estring ~loc shown] observed : Bactrian.Observer.t);
      observed]
  in
  plain { binding with pvb_expr = expression }

let observe_table ~loc ~shown binding =
  plain { binding with pvb_expr = [%expr Bactrian.Hashtable.observe_any [%e estring ~loc shown] [%e binding.pvb_expr]] }

(* [of_file] is the attribute for the rest of the file; under it, bindings that cannot be observed are left unchanged. *)
let observe ~path ~of_file binding =
  let loc = { binding.pvb_loc with loc_ghost = true } in
  let ours, others = List.partition is_ours binding.pvb_attributes in
  let binding = { binding with pvb_attributes = others } in
  let asked = match ours with [] -> None | attribute :: _ -> Some (wish_of attribute) in
  let refuse reason =
    match ours with
    | [] -> plain binding
    | attribute :: _ -> Location.raise_errorf ~loc:attribute.attr_loc "observe: %s" reason
  in
  let fits allowed = List.for_all (fun what -> List.mem what allowed) in
  match (asked, of_file) with
  | None, None -> plain binding
  | Some { is_off = true; _ }, _ | None, Some { is_off = true; _ } -> plain binding
  | Some wish, _ | None, Some wish -> (
      match (variable binding.pvb_pat, subject_of binding.pvb_expr) with
      | None, _ -> refuse "only a value that is bound to a single variable can be observed"
      | Some name, subject -> (
          let shown = match wish.name with Some name -> name | None -> String.concat "." (List.rev (name :: path)) in
          match subject with
          | Function when fits of_functions wish.what -> observe_function ~loc ~shown ~name wish.what binding
          | Function -> refuse "this is a function, of which only calls and time can be observed"
          | Ref (Some type_) when fits [ type_ ] wish.what -> observe_ref ~loc ~shown type_ binding
          | Ref (Some type_) -> refuse (Printf.sprintf "this is a reference to a value of type %s" type_)
          | Ref None -> (
              match wish.what with
              | [ type_ ] when List.mem type_ of_refs -> observe_ref ~loc ~shown type_ binding
              | _ -> refuse "the type of this reference is unknown: write [@@observe int], float, bool or string")
          | Table when fits [ "table" ] wish.what -> observe_table ~loc ~shown binding
          | Table -> refuse "this is a hash table"
          | Nothing when wish.what = [ "table" ] -> observe_table ~loc ~shown binding
          | Nothing ->
              refuse
                "this cannot be observed: it is neither a function, nor a reference, nor Hashtbl.create; for a table created in \
                 another way, write [@@observe table]"))

let observer =
  object (self)
    inherit Ast_traverse.map as super

    (* The enclosing modules, innermost first, and the attribute for the rest of the file. *)
    val path = []
    val of_file = None

    method! structure items =
      let rec go of_file = function
        | [] -> []
        | { pstr_desc = Pstr_attribute attribute; _ } :: rest when is_ours attribute ->
            let wish = wish_of attribute in
            if wish.name <> None then
              Location.raise_errorf ~loc:attribute.attr_loc "observe: a name is for a single value, and this attribute is for all values that follow";
            go (Some wish) rest
        | { pstr_desc = Pstr_value (recursive, bindings); _ } as item :: rest ->
            let observed = List.map (observe ~path ~of_file) bindings in
            let all part = List.concat_map part observed in
            let bindings = List.map (fun { binding; _ } -> binding) observed in
            all (fun { before; _ } -> before)
            @ [ { item with pstr_desc = Pstr_value (recursive, bindings) } ]
            @ all (fun { after; _ } -> after)
            @ go of_file rest
        | item :: rest ->
            let item = {<of_file>}#structure_item item in
            item :: go of_file rest
      in
      go of_file items

    method! module_binding binding =
      match binding.pmb_name.txt with
      | Some name -> {<path = name :: path>}#inner_module binding
      | None -> binding

    method inner_module binding = super#module_binding binding
    method of_module name = {<path = [ name ]>}

    (* Each application of a functor would create new observers with the same names. *)
    method! module_expr expression =
      match expression.pmod_desc with Pmod_functor _ -> self#as_it_is expression | _ -> super#module_expr expression

    method private as_it_is expression = expression

    (* Values inside expressions do not live as long as the program. *)
    method! expression expression = expression
  end

let module_of_file items =
  match items with
  | [] -> "Main"
  | { pstr_loc; _ } :: _ ->
      String.capitalize_ascii (Filename.remove_extension (Filename.basename pstr_loc.loc_start.pos_fname))

let observe_structure items =
  let observer = observer#of_module (module_of_file items) in
  observer#structure items

let () = Driver.register_transformation "bactrian" ~impl:observe_structure
