open Types
open Table

(* What a variable of the table stands for: a variable of the compiler, a type from a functor's parameter, or a type
   that is local to an expression. *)
type key = Node of type_expr | Parameter of Modules.type_ | Local of Path.t

type context = {
  frame : Modules.frame;
  mutable variables : (key * int) list;
  mutable next : int;
  mutable rows : (type_expr * (unit -> int)) list; (* enclosing polymorphic variants and objects, and how an inner
                                                      occurrence refers to them *)
}

let context frame = { frame; variables = []; next = 0; rows = [] }

let same a b =
  match (a, b) with
  | Node a, Node b -> Compat.same_node a b
  | Parameter a, Parameter b -> a == b
  | Local a, Local b -> Path.same a b
  | _ -> false

let fresh context =
  context.next <- context.next + 1;
  context.next - 1

let variable context key =
  match List.find_opt (fun (known, _) -> same known key) context.variables with
  | Some (_, number) -> number
  | None ->
      let number = fresh context in
      context.variables <- (key, number) :: context.variables;
      number

let layout_of_package = ref (fun _ _ _ _ -> 0)

(* Declarations and extensions that have a number but are not filled in yet. *)
let waiting : (unit -> unit) Queue.t = Queue.create ()

let add_declaration name arity kind = Rows.add declarations { name; arity; kind; generic = None }
let missing : (string * int, int) Hashtbl.t = Hashtbl.create 20

let missing_declaration name arity why =
  match Hashtbl.find_opt missing (name, arity) with
  | Some number -> number
  | None ->
      let number = add_declaration name arity (Abstract why) in
      Hashtbl.add missing (name, arity) number;
      number

let builtin = function
  | "int" | "char" -> Some Immediate
  | "string" -> Some String
  | "bytes" -> Some Bytes
  | "float" -> Some Float
  | "int32" -> Some Int32
  | "int64" -> Some Int64
  | "nativeint" -> Some Nativeint
  | "array" | "iarray" -> Some Array
  | "floatarray" -> Some Floatarray
  | "lazy_t" -> Some Lazy
  | _ -> None

(* Whether the declaration gives the representation of the values, and not only the type's existence. *)
let is_known (t : Modules.type_) =
  match (t.origin, t.of_) with
  | Modules.Predefined, _ -> true
  | Modules.Declared, `Declaration d -> d.type_manifest <> None || Compat.kind d <> Compat.Abstract
  | _ -> false

let known_variants : (case list * bool * int, int) Hashtbl.t = Hashtbl.create 50
let is_capitalised name = name <> "" && name.[0] >= 'A' && name.[0] <= 'Z'
let deepest = 100

let rec type_at depth context ty =
  let convert = type_at (depth + 1) context in
  if depth > deepest then Table.type_ (Opaque "..")
  else
    match Compat.desc ty with
    | Tvar _ | Tunivar _ -> Table.type_ (Variable (variable context (Node ty)))
    | Tarrow (label, argument, result, _) ->
        let label =
          match label with Asttypes.Nolabel -> "" | Labelled name -> "~" ^ name | Optional name -> "?" ^ name
        in
        let argument = convert argument in
        Table.type_ (Arrow (label, argument, convert result))
    | Ttuple parts -> Table.type_ (Tuple (List.map convert (Compat.parts parts)))
    | Tconstr (path, arguments, _) -> constructed depth context path arguments
    | Tpoly (ty, _) -> convert ty
    | Tvariant row -> (
        match List.find_opt (fun (around, _) -> Compat.same_node around ty) context.rows with
        | Some (_, use) -> use ()
        | None -> polymorphic_variant depth context ty row)
    | Tobject (fields, name) -> object_ depth context ty fields !name
    | desc -> (
        match Compat.package desc with
        | None -> Table.type_ (Opaque "?")
        | Some (path, equations) ->
            let equation (id, ty) =
              Printf.sprintf "type %s = %s" (String.concat "." id) (show (convert ty))
            in
            let name = Modules.module_type_name context.frame path in
            let name =
              match equations with
              | [] -> name
              | _ -> name ^ " with " ^ String.concat " and " (List.map equation equations)
            in
            Table.type_ (Package (name, !layout_of_package context.frame name path equations)))

and constructed depth context path arguments =
  let convert = List.map (type_at (depth + 1) context) in
  match Modules.find_type context.frame path with
  | Some (Ok { origin = Parameter; arity = 0; _ } as found) ->
      Table.type_ (Variable (variable context (Parameter (Result.get_ok found))))
  | Some (Ok { origin = Parameter; _ }) -> Table.type_ (Variable (fresh context))
  | Some (Ok { of_ = `Object name; _ }) -> Table.type_ (Object name)
  | Some (Ok t) when t.arity = List.length arguments -> Table.type_ (Constructed (declare t, convert arguments))
  | Some (Ok t) -> Table.type_ (Opaque t.name)
  | (None | Some (Error _)) as found -> (
      match (inlined context path, found) with
      | Some ty, _ -> ty
      | None, Some (Error why) ->
          let declaration = missing_declaration (Names.path path) (List.length arguments) why in
          Table.type_ (Constructed (declaration, convert arguments))
      | None, _ when arguments <> [] -> Table.type_ (Variable (fresh context))
      | None, _ -> Table.type_ (Variable (variable context (Local path))))

(* An inline record has a type of its own but no block of its own: the block is the constructor's. *)
and inlined context path =
  let any (t : Modules.type_) =
    let arguments = List.init t.arity (fun _ -> Table.type_ (Variable (fresh context))) in
    Some (Table.type_ (Constructed (declare t, arguments)))
  in
  let of_type path = match Modules.find_type context.frame path with Some (Ok t) -> any t | _ -> None in
  let of_extension path =
    Option.bind (Modules.find_extension context.frame path) (fun (e : Modules.extension) ->
        match Modules.find_type e.within e.declared.ext_type_path with Some (Ok t) -> any t | _ -> None)
  in
  match (Compat.inlined path, path) with
  | Some (path, Some _), _ -> of_type path
  | Some (path, None), _ -> of_extension path
  | None, Path.Pdot (prefix, name) when is_capitalised name -> (
      match of_type prefix with Some ty -> Some ty | None -> of_extension path)
  | None, Path.Pident id when is_capitalised (Ident.name id) -> of_extension path
  | None, _ -> None

(* Polymorphic variants are not declared, so each gets a declaration of its own: its variables are the parameters, and
   inner occurrences refer to it by its number. To find out whether it equals an earlier one, inner occurrences are
   first all written the same way. *)
and polymorphic_variant depth context ty row =
  let cases, is_closed = Compat.row row in
  let look use =
    let inside = { frame = context.frame; variables = []; next = 0; rows = (ty, use) :: context.rows } in
    let case (name, arguments) =
      let argument = match arguments with [] -> None | first :: _ -> Some (type_at (depth + 1) inside first) in
      { case = name; hash = Btype.hash_variant name; argument }
    in
    let cases = List.sort (fun a b -> compare a.case b.case) (List.map case cases) in
    (cases, inside)
  in
  let is_recursive = ref false in
  let shape, inside =
    look (fun () ->
        is_recursive := true;
        Table.type_ (Opaque "'self"))
  in
  let arity = inside.next in
  let number =
    match Hashtbl.find_opt known_variants (shape, is_closed, arity) with
    | Some number -> number
    | None ->
        let number = add_declaration (show_cases shape is_closed) arity (Cases (shape, is_closed)) in
        Hashtbl.add known_variants (shape, is_closed, arity) number;
        if !is_recursive then begin
          let parameters = List.init arity (fun n -> Table.type_ (Variable n)) in
          let cases, _ = look (fun () -> Table.type_ (Constructed (number, parameters))) in
          (Rows.get declarations number).kind <- Cases (cases, is_closed)
        end;
        number
  in
  let arguments =
    List.init arity (fun n ->
        match List.find_opt (fun (_, number) -> number = n) inside.variables with
        | Some (key, _) -> Table.type_ (Variable (variable context key))
        | None -> Table.type_ (Variable (fresh context)))
  in
  Table.type_ (Constructed (number, arguments))

and show_cases cases is_closed =
  let case c = "`" ^ c.case ^ match c.argument with None -> "" | Some ty -> " of " ^ show ty in
  Printf.sprintf "[%s %s ]" (if is_closed then "" else ">") (String.concat " | " (List.map case cases))

and object_ depth context ty fields name =
  match name with
  | Some (path, _) ->
      let name = match Modules.find_type context.frame path with Some (Ok t) -> t.name | _ -> Names.path path in
      Table.type_ (Object name)
  | None ->
      if List.exists (fun (around, _) -> Compat.same_node around ty) context.rows then Table.type_ (Opaque "'self")
      else begin
        let rows = context.rows in
        context.rows <- (ty, fun () -> Table.type_ (Opaque "'self")) :: rows;
        let methods, rest = Ctype.flatten_fields fields in
        let method_ (name, kind, ty) =
          if Compat.method_is_present kind then Some (name ^ " : " ^ show (type_at (depth + 1) context ty)) else None
        in
        let shown = List.filter_map method_ methods in
        let shown = match Compat.desc rest with Tnil -> shown | _ -> shown @ [ ".." ] in
        context.rows <- rows;
        Table.type_ (Object ("< " ^ String.concat "; " shown ^ " >"))
      end

and declare (t : Modules.type_) =
  if t.number < 0 then begin
    t.number <- add_declaration t.name t.arity (Abstract "");
    Queue.add (fun () -> fill t) waiting
  end;
  t.number

and fill t =
  let row = Rows.get declarations t.number in
  (match t.of_ with `Object _ -> () | `Declaration declaration -> row.kind <- kind t declaration);
  match Option.map Lazy.force t.generic with
  | Some generic when generic != t && generic.arity = t.arity -> row.generic <- Some (declare generic)
  | Some _ | None | (exception Not_found) -> ()

and kind t declaration =
  let context = context t.scope in
  let parameter n ty =
    match Compat.desc ty with Tvar _ -> context.variables <- (Node ty, n) :: context.variables | _ -> ()
  in
  List.iteri parameter declaration.type_params;
  context.next <- t.arity;
  let convert = type_at 0 context in
  let stands_for ty =
    match Compat.desc ty with
    | Tconstr (path, _, _) -> (
        match Modules.find_type t.scope path with Some (Ok other) -> other != t && is_known other | _ -> false)
    | _ -> true
  in
  match (declaration.type_manifest, Compat.kind declaration) with
  | Some ty, Compat.Abstract -> Alias (convert ty)
  | Some ty, _ when stands_for ty -> Alias (convert ty)
  | _, Compat.Abstract -> (
      match (t.origin, builtin t.name) with
      | Modules.Predefined, Some builtin -> Builtin builtin
      (* OCaml 5 declares these as abstract but implements them as references. *)
      | Modules.Declared, _ when List.mem t.name [ "Atomic.t"; "atomic_t"; "CamlinternalAtomic.t" ] && t.arity = 1 ->
          Record (Boxed, [ { field = "contents"; is_mutable = true; of_ = Table.type_ (Variable 0) } ])
      | Modules.Hidden, _ when declaration.type_immediate <> Type_immediacy.Always ->
          Abstract "its implementation was not found"
      | _ -> if declaration.type_immediate = Type_immediacy.Always then Builtin Immediate else Abstract "")
  | _, Compat.Record (labels, representation) ->
      let representation =
        match representation with Record_unboxed _ -> Unboxed | Record_float -> Floats | _ -> Boxed
      in
      Record (representation, fields context labels)
  | _, Compat.Variant (constructors, is_unboxed) ->
      Variant ((if is_unboxed then Unboxed else Boxed), number_constructors context t constructors)
  | _, Compat.Open -> Open

and fields context labels =
  let field label =
    let is_mutable = label.ld_mutable = Asttypes.Mutable in
    { field = Ident.name label.ld_id; is_mutable; of_ = type_at 0 context label.ld_type }
  in
  List.map field labels

and arguments context = function
  | Cstr_tuple types -> List.map (fun ty -> { field = ""; is_mutable = false; of_ = type_at 0 context ty }) types
  | Cstr_record labels -> fields context labels

and results context ty =
  match Compat.desc ty with Tconstr (_, arguments, _) -> List.map (type_at 0 context) arguments | _ -> []

(* Constructors with arguments and constructors without are numbered separately. *)
and number_constructors context t constructors =
  let blocks = ref 0 and constants = ref 0 in
  let constructor c =
    let counter = if c.cd_args = Cstr_tuple [] then constants else blocks in
    let tag = !counter in
    incr counter;
    let own = { frame = t.scope; variables = []; next = 0; rows = [] } in
    match c.cd_res with
    | None -> { constructor = Ident.name c.cd_id; tag; arguments = arguments context c.cd_args; result = None }
    | Some ty ->
        let result = results own ty in
        { constructor = Ident.name c.cd_id; tag; arguments = arguments own c.cd_args; result = Some result }
  in
  List.map constructor constructors

(* A failure in one type does not affect the others. *)
let type_ context ty =
  try type_at 0 context ty with Not_found | Lazy.Undefined | Failure _ | Invalid_argument _ -> Table.type_ (Opaque "?")


let is_immediate ty =
  match Compat.desc ty with
  | Tconstr (Path.Pident id, [], _) -> Ident.is_predef id && List.mem (Ident.name id) [ "int"; "char"; "bool"; "unit" ]
  | _ -> false

let is_function context ty =
  let rec of_ frame depth ty =
    match Compat.desc ty with
    | Tarrow _ -> true
    | Tpoly (ty, _) -> of_ frame depth ty
    | Tconstr (path, _, _) when depth < deepest -> (
        match Modules.find_type frame path with
        | Some (Ok { of_ = `Declaration { type_manifest = Some ty; _ }; scope; _ }) -> of_ scope (depth + 1) ty
        | _ -> false)
    | _ -> false
  in
  of_ context.frame 0 ty

let predefined name arguments =
  let id = List.assoc name Predef.builtin_idents in
  match Modules.find_type Modules.nowhere (Path.Pident id) with
  | Some (Ok t) -> Table.type_ (Constructed (declare t, arguments))
  | _ -> Table.type_ (Opaque name)

let fill_extension (e : Modules.extension) =
  let row = Rows.get extensions e.extension in
  let context = context e.within in
  let declared = e.declared in
  let result =
    match declared.ext_ret_type with
    | Some ty -> results context ty
    | None -> List.map (type_at 0 context) declared.ext_type_params
  in
  row.arguments <- arguments context declared.ext_args;
  row.result <- result;
  row.extends <-
    (match Modules.find_type e.within declared.ext_type_path with
    | Some (Ok t) when t.arity = List.length result -> declare t
    | _ -> missing_declaration (Names.path declared.ext_type_path) (List.length result) "it was not found")

let extension (e : Modules.extension) =
  if e.extension < 0 then begin
    e.extension <- Rows.add extensions { extension = e.constructor; extends = 0; result = []; arguments = [] };
    Queue.add (fun () -> fill_extension e) waiting
  end;
  e.extension

(* Predefined exceptions, as in predef.ml. *)
let predefined_exceptions () =
  let string = predefined "string" [] and int = predefined "int" [] in
  let place = [ Table.type_ (Tuple [ string; int; int ]) ] in
  let declare (extension, arguments) =
    let field of_ = { field = ""; is_mutable = false; of_ } in
    let exn_ = match Rows.get types (predefined "exn" []) with Constructed (exn_, _) -> exn_ | _ -> assert false in
    ignore (Rows.add extensions { extension; extends = exn_; result = []; arguments = List.map field arguments })
  in
  List.iter declare
    [ ("Out_of_memory", []); ("Sys_error", [ string ]); ("Failure", [ string ]); ("Invalid_argument", [ string ]);
      ("End_of_file", []); ("Division_by_zero", []); ("Not_found", []); ("Match_failure", place); ("Stack_overflow", []);
      ("Sys_blocked_io", []); ("Assert_failure", place); ("Undefined_recursive_module", place) ]

(* Aliases of each other, which recursive modules may contain, are made abstract. *)
let break_circles () =
  let rec follow seen number =
    match (Rows.get declarations number).kind with
    | Alias ty -> (
        match Rows.get types ty with
        | Constructed (next, _) when List.mem next seen ->
            (Rows.get declarations number).kind <- Abstract "it is declared by itself"
        | Constructed (next, _) -> follow (next :: seen) next
        | _ -> ())
    | _ -> ()
  in
  for number = 0 to declarations.count - 1 do
    follow [ number ] number
  done

let drain () =
  while not (Queue.is_empty waiting) do
    (* What cannot be completed stays as it is: abstract. *)
    try (Queue.pop waiting) () with Stack_overflow | Not_found | Lazy.Undefined | Failure _ | Invalid_argument _ -> ()
  done

let finish () =
  predefined_exceptions ();
  drain ();
  break_circles ()
