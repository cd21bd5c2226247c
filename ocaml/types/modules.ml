open Types
open Typedtree

type origin = Predefined | Declared | Parameter | Hidden

type type_ = {
  name : string;
  arity : int;
  of_ : [ `Declaration of Types.type_declaration | `Object of string ];
  origin : origin;
  scope : frame;
  generic : type_ Lazy.t option;
  mutable number : int;
}

and extension = { constructor : string; declared : Types.extension_constructor; within : frame; mutable extension : int }

and t = Structure of structure | Functor of functor_ | Unknown of string

and structure = {
  id : int;
  title : string;
  is_open : bool; (* depends on a functor's parameter *)
  types : (string, type_ Lazy.t) Hashtbl.t;
  modules : (string, t Lazy.t) Hashtbl.t;
  module_types : (string, module_type_) Hashtbl.t;
  extensions : (string, extension option Lazy.t) Hashtbl.t;
}

and module_type_ = frame * Types.module_type option

and functor_ = {
  functor_id : int;
  functor_title : string;
  parameter : Types.functor_parameter;
  body : body;
  around : frame;
  instances : (int * string, t Lazy.t) Hashtbl.t;
  generic_body : (frame * t) Lazy.t;
}

and body = Code of module_expr | Signature of origin * Types.module_type

and frame = {
  unit_ : int; (* its number, for [find_unit] *)
  prefix : string; (* the unit's name in OCaml syntax *)
  table : entity Ident.Tbl.t;
  parent : frame option;
  twin : frame Lazy.t option; (* the same functor's body, applied to an unknown argument *)
  is_generic : bool; (* in a functor's body that is applied to an unknown argument *)
  mutable functors : (module_expr * functor_) list;
}

and entity =
  | Type of type_ Lazy.t
  | Module of t Lazy.t
  | Module_type of module_type_
  | Extension of extension option Lazy.t

let fresh =
  let last = ref 0 in
  fun () -> incr last; !last

let frame unit_ prefix =
  { unit_; prefix; table = Ident.Tbl.create 16; parent = None; twin = None; is_generic = false; functors = [] }

let inner parent = { parent with table = Ident.Tbl.create 16; parent = Some parent; twin = None; functors = [] }
let name = function Structure s -> s.title | Functor f -> f.functor_title | Unknown why -> why
let uid = function Structure s -> s.id | Functor f -> f.functor_id | Unknown _ -> 0

let empty title ~is_open =
  { id = fresh (); title; is_open; types = Hashtbl.create 8; modules = Hashtbl.create 8; module_types = Hashtbl.create 2;
    extensions = Hashtbl.create 2 }

let rec lookup frame id =
  match Ident.Tbl.find_opt frame.table id with
  | Some entity -> Some entity
  | None -> Option.bind frame.parent (fun parent -> lookup parent id)

let bind frame into id entity =
  Ident.Tbl.replace frame.table id entity;
  Option.iter
    (fun s ->
      let name = Ident.name id in
      match entity with
      | Type t -> Hashtbl.replace s.types name t
      | Module m -> Hashtbl.replace s.modules name m
      | Module_type m -> Hashtbl.replace s.module_types name m
      | Extension e -> Hashtbl.replace s.extensions name e)
    into

let find_unit = ref (fun ~from:_ name -> Unknown name)

(* Modules that are defined in terms of each other end here instead of raising an exception. *)
let force m = try Lazy.force m with Lazy.Undefined | Stack_overflow -> Unknown "a module that is made of itself"

let force_type t = try Ok (Lazy.force t) with Lazy.Undefined -> Error "it is declared by itself"

let module_in m part =
  match m with
  | Structure { modules; _ } when Hashtbl.mem modules part -> force (Hashtbl.find modules part)
  | _ -> Unknown (Names.dot (name m) part)

let declared_type frame id title origin decl =
  let generic =
    Option.map
      (fun twin ->
        lazy
          (match lookup (Lazy.force twin) id with
          | Some (Type t) -> Lazy.force t
          | _ -> raise Not_found))
      frame.twin
  in
  let origin = match (origin, decl.type_manifest, Compat.kind decl) with
    | (Parameter | Hidden), None, Compat.Abstract -> origin
    | _ -> Declared
  in
  { name = Names.dot title (Ident.name id); arity = List.length decl.type_params; of_ = `Declaration decl; origin;
    scope = frame; generic; number = -1 }

let is_named =
  let rec of_ m =
    match m.mod_desc with
    | Tmod_ident _ -> true
    | Tmod_constraint (m, _, _, _) -> of_ m
    | desc -> (match Compat.applied desc with Some (f, Some a) -> of_ f && of_ a | _ -> false)
  in
  of_

let nowhere = frame (-1) ""

let predefined =
  let known = Hashtbl.create 20 in
  fun id ->
    let name = Ident.name id in
    match Hashtbl.find_opt known name with
    | Some t -> Ok t
    | None -> (
        match Env.find_type (Path.Pident id) Compat.initial_env with
        | exception Not_found -> Error ("there is no type " ^ name)
        | decl ->
            let arity = List.length decl.type_params and of_ = `Declaration decl in
            let t = { name; arity; of_; origin = Predefined; scope = nowhere; generic = None; number = -1 } in
            Hashtbl.add known name t;
            Ok t)

let rec find_module frame path =
  match path with
  | Path.Pident id when Ident.persistent id -> !find_unit ~from:frame.unit_ (Ident.name id)
  | Path.Pident id -> (
      match lookup frame id with Some (Module m) -> force m | _ -> Unknown (Names.path path))
  | Path.Pdot (prefix, name) -> module_in (find_module frame prefix) name
  | Path.Papply (f, a) ->
      let argument = lazy (find_module frame a) in
      apply (find_module frame f) (Some argument) ~named:true ~is_open:false ~inside:false (Names.path path)
  | _ -> Unknown (Names.path path)
[@@warning "-11"]

(* The result of applying a functor to an argument. The same functor and argument give the same result. It is named
   after both; but if the argument has no name, after what the result is bound to. The same holds for results that are
   made [inside] another functor for its own use. A result that depends on another functor's parameter, which may be
   any argument, is the functor's body itself. *)
and apply m argument ~named ~is_open ~inside bound_to =
  match m with
  | Structure _ | Unknown _ -> Unknown bound_to
  | Functor f -> (
      let generic = lazy (snd (Lazy.force f.generic_body)) in
      let twin = lazy (fst (Lazy.force f.generic_body)) in
      let instance title = snd (instantiate f argument ~twin:(Some twin) title) in
      match (argument, named) with
      | _, false when is_open -> force generic
      | Some (lazy (Structure { is_open = true; _ })), true -> force generic
      | Some a, true ->
          let a = force a in
          let key = (uid a, match a with Unknown why -> why | _ -> "") in
          let make () =
            let is_bound = f.functor_title = bound_to || Names.is_argument (name a) in
            let is_bound = is_bound || (inside && Names.is_applied (name a)) in
            let title = if is_bound then bound_to else Printf.sprintf "%s(%s)" f.functor_title (name a) in
            let made = lazy (instance title) in
            Hashtbl.add f.instances key made;
            made
          in
          force (match Hashtbl.find_opt f.instances key with Some made -> made | None -> make ())
      | _ -> instance bound_to)

and instantiate f argument ~twin title =
  let frame = { (inner f.around) with twin; is_generic = Option.is_none twin || f.around.is_generic } in
  (match (f.parameter, argument) with
  | Named (Some id, _), Some argument -> bind frame None id (Module argument)
  | _ -> ());
  let result =
    match f.body with
    | Code m -> force (evaluate frame title m)
    | Signature (origin, mty) -> of_module_type frame origin title mty
  in
  (frame, result)

and make_functor frame title parameter body =
  let rec f =
    { functor_id = fresh (); functor_title = title; parameter; body; around = frame; instances = Hashtbl.create 2;
      generic_body =
        lazy
          (let argument =
             match parameter with
             | Named (id, mty) ->
                 let name = match id with Some id -> Ident.name id | None -> "_" in
                 Some (lazy (of_module_type frame Parameter name mty))
             | Unit -> None
           in
           instantiate f argument ~twin:None title) }
  in
  f

and evaluate frame title m : t Lazy.t =
  match m.mod_desc with
  | Tmod_ident (path, _) -> lazy (find_module frame path)
  | Tmod_structure s -> Lazy.from_val (Structure (structure frame title s))
  | Tmod_constraint (m, _, _, _) -> evaluate frame title m
  | Tmod_unpack (_, mty) -> lazy (of_module_type frame Parameter title mty)
  | Tmod_functor (parameter, body) ->
      let parameter =
        match parameter with Typedtree.Unit -> Types.Unit | Named (id, _, mty) -> Types.Named (id, mty.mty_type)
      in
      let f = make_functor frame title parameter (Code body) in
      (* Within the result of another functor, the reference body is that within the other functor's body. *)
      let in_twin twin = lazy (Lazy.force (List.assq m (Lazy.force twin).functors).generic_body) in
      let f = match frame.twin with None -> f | Some twin -> { f with generic_body = in_twin twin } in
      frame.functors <- (m, f) :: frame.functors;
      Lazy.from_val (Functor f)
  | desc -> (
      match Compat.applied desc with
      | Some (f, argument) ->
          let made = evaluate frame title f in
          let named = match argument with Some a -> is_named m && is_named a | None -> false in
          let argument = Option.map (evaluate frame (Names.argument title)) argument in
          lazy (apply (force made) argument ~named ~is_open:frame.is_generic ~inside:(Option.is_some frame.twin) title)
      | None -> Lazy.from_val (Unknown title))

and structure frame title s =
  let into = empty title ~is_open:frame.is_generic in
  let add id entity = bind frame (Some into) id entity in
  let extension (e : Typedtree.extension_constructor) = add e.ext_id (Extension (make_extension frame title e)) in
  let class_ id arity =
    let name = Names.dot title (Ident.name id) in
    let t = { name; arity; of_ = `Object name; origin = Declared; scope = frame; generic = None; number = -1 } in
    add id (Type (Lazy.from_val t))
  in
  let module_ mb = bind_in frame (Some into) title mb.mb_id mb.mb_expr in
  let item i =
    match i.str_desc with
    | Tstr_type (_, decls) ->
        List.iter (fun d -> add d.typ_id (Type (lazy (declared_type frame d.typ_id title Declared d.typ_type)))) decls
    | Tstr_typext e -> List.iter extension e.tyext_constructors
    | Tstr_exception e -> extension e.tyexn_constructor
    | Tstr_module mb -> module_ mb
    | Tstr_recmodule mbs -> List.iter module_ mbs
    | Tstr_modtype m -> add m.mtd_id (Module_type (frame, Option.map (fun t -> t.mty_type) m.mtd_type))
    | Tstr_include i -> items frame (Some into) title Hidden (Some (evaluate frame title i.incl_mod)) i.incl_type
    | Tstr_open o -> items frame None title Hidden (Some (evaluate frame title o.open_expr)) o.open_bound_items
    | Tstr_class cs -> List.iter (fun (c, _) -> class_ c.ci_id_object (List.length c.ci_params)) cs
    | Tstr_class_type cs -> List.iter (fun (_, _, c) -> class_ c.ci_id_object (List.length c.ci_params)) cs
    | Tstr_eval _ | Tstr_value _ | Tstr_primitive _ | Tstr_attribute _ -> ()
  in
  List.iter item s.str_items;
  into

and bind_in frame into title id m =
  let name = match id with Some id -> Ident.name id | None -> "_" in
  let made = evaluate frame (Names.dot title name) m in
  Option.iter (fun id -> bind frame into id (Module made)) id

and make_extension frame title e =
  match e.ext_kind with
  | Text_rebind (path, _) -> lazy (find_extension frame path)
  | Text_decl _ ->
      let constructor = Names.dot title (Ident.name e.ext_id) in
      Lazy.from_val (Some { constructor; declared = e.ext_type; within = frame; extension = -1 })

(* Binds what a signature declares: to the components of [source] if it has them, otherwise as the signature says. *)
and items frame into title origin source signature =
  let in_source components name =
    Option.bind source (fun m ->
        match force m with Structure s -> Hashtbl.find_opt (components s) name | Functor _ | Unknown _ -> None)
  in
  let item = function
    | Sig_type (id, decl, _, _) ->
        bind frame into id
          (Type
             (lazy
               (match in_source (fun s -> s.types) (Ident.name id) with
               | Some t -> Lazy.force t
               | None -> declared_type frame id title origin decl)))
    | Sig_module (id, _, md, _, _) ->
        let name = Ident.name id in
        bind frame into id
          (Module
             (lazy
               (match in_source (fun s -> s.modules) name with
               | Some m -> force m
               | None -> of_module_type frame origin (Names.dot title name) md.md_type)))
    | Sig_modtype (id, m, _) -> bind frame into id (Module_type (frame, m.mtd_type))
    | Sig_typext (id, e, _, _) ->
        let name = Ident.name id in
        bind frame into id
          (Extension
             (lazy
               (match in_source (fun s -> s.extensions) name with
               | Some e -> Lazy.force e
               | None -> Some { constructor = Names.dot title name; declared = e; within = frame; extension = -1 })))
    | Sig_value _ | Sig_class _ | Sig_class_type _ -> ()
  in
  List.iter item signature

and of_module_type frame origin title mty =
  match mty with
  | Mty_signature signature ->
      let into = empty title ~is_open:(origin = Parameter || frame.is_generic) in
      items (inner frame) (Some into) title origin None signature;
      Structure into
  | Mty_alias path -> find_module frame path
  | Mty_functor (parameter, result) -> Functor (make_functor frame title parameter (Signature (origin, result)))
  | Mty_ident path -> (
      match find_module_type frame path with
      | Some (scope, Some mty) -> of_module_type scope origin title mty
      | _ -> Unknown title)

and find_module_type frame path =
  match path with
  | Path.Pident id -> (match lookup frame id with Some (Module_type m) -> Some m | _ -> None)
  | Path.Pdot (prefix, name) -> (
      match find_module frame prefix with Structure s -> Hashtbl.find_opt s.module_types name | _ -> None)
  | _ -> None

and find_extension frame path =
  match path with
  | Path.Pident id -> extension_of_ident frame id
  | Path.Pdot (prefix, name) -> (
      match find_module frame prefix with
      | Structure s -> Option.bind (Hashtbl.find_opt s.extensions name) Lazy.force
      | Functor _ | Unknown _ -> None)
  | _ -> None

and extension_of_ident frame id = match lookup frame id with Some (Extension e) -> Lazy.force e | _ -> None

let module_of_ident frame id = match lookup frame id with Some (Module m) -> force m | _ -> Unknown (Ident.name id)

let find_type frame path =
  match path with
  | Path.Pident id when Ident.is_predef id -> Some (predefined id)
  | Path.Pident id -> (match lookup frame id with Some (Type t) -> Some (force_type t) | _ -> None)
  | Path.Pdot (prefix, name) -> (
      match find_module frame prefix with
      | Structure s -> (
          match Hashtbl.find_opt s.types name with
          | Some t -> Some (force_type t)
          | None -> Some (Error (Printf.sprintf "there is no %s in %s" name s.title)))
      | Functor f -> Some (Error (f.functor_title ^ " is a functor"))
      | Unknown why -> Some (Error ("nothing is known of " ^ why)))
  | _ -> None

let rec scrape frame = function
  | Mty_ident path as mty -> (
      match find_module_type frame path with Some (scope, Some mty) -> scrape scope mty | _ -> (frame, mty))
  | mty -> (frame, mty)

let of_structure unit_ prefix s =
  let frame = frame unit_ prefix in
  (Structure (structure frame prefix s), frame)

let of_signature unit_ prefix signature = of_module_type (frame unit_ prefix) Hidden prefix (Mty_signature signature)
let of_value frame title mty = of_module_type frame Parameter title mty

let equate m name scope ty =
  match m with
  | Structure s ->
      let equated t =
        match t.of_ with
        | `Declaration d -> { t with of_ = `Declaration { d with type_manifest = Some ty }; origin = Declared; scope }
        | `Object _ -> t
      in
      let replace t = Hashtbl.replace s.types name (lazy (equated (Lazy.force t))) in
      Option.iter replace (Hashtbl.find_opt s.types name)
  | Functor _ | Unknown _ -> ()

let module_type_name frame path =
  match path with Path.Pident id -> Names.dot frame.prefix (Ident.name id) | _ -> Names.path path

let view outer m signature =
  let frame = inner outer in
  items frame None (name m) Hidden (Some (Lazy.from_val m)) signature;
  frame

let bind_module frame id m = bind_in frame None frame.prefix id m

let bind_opened frame o =
  items frame None frame.prefix Hidden (Some (evaluate frame frame.prefix o.open_expr)) o.open_bound_items

let bind_exception frame e = bind frame None e.ext_id (Extension (make_extension frame frame.prefix e))

let generic frame m =
  let rec find f = match List.assq_opt m f.functors with Some f -> Some f | None -> Option.bind f.parent find in
  match find frame with Some f -> Lazy.force f.generic_body | None -> (frame, Unknown "functor")
