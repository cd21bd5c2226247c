(* The table under construction: the records of crates/types/src/table/model.rs, which documents them. Types,
   declarations and so on are referred to by their numbers. *)

type type_ =
  | Variable of int
  | Constructed of int * int list
  | Tuple of int list
  | Arrow of string * int * int
  | Package of string * int
  | Object of string
  | Opaque of string

type representation = Boxed | Unboxed | Floats
type builtin = Immediate | String | Bytes | Float | Int32 | Int64 | Nativeint | Array | Floatarray | Lazy
type field = { field : string; is_mutable : bool; of_ : int }
type constructor = { constructor : string; tag : int; arguments : field list; result : int list option }
type case = { case : string; hash : int; argument : int option }

type kind =
  | Abstract of string
  | Alias of int
  | Record of representation * field list
  | Variant of representation * constructor list
  | Cases of case list * bool
  | Open
  | Builtin of builtin

type declaration = { name : string; arity : int; mutable kind : kind; mutable generic : int option }
type extension = { extension : string; mutable extends : int; mutable result : int list; mutable arguments : field list }
type item = Value of int | Extension of int | Module of int | Other of string
type layout = { layout : string; mutable fields : (string * item) list; mutable public : int }

type site_kind =
  | S_constructor | S_record | S_tuple | S_array | S_case | S_extension | S_closure | S_lazy | S_object | S_module
  | S_primitive | S_partial | S_other

type site = {
  unit : int; file : string; line : int; start : int; stop : int; site : site_kind;
  block_tag : int option; words : int option; type_ : int; what : string;
}

(* Where in the source a variable is in scope; [of_parameter] if that is all of a function. *)
type scope = { scope_file : string; first : int; last : int; of_parameter : bool }
type variable = { unit_of : int; variable : string; stamp : int; item : item; scope : scope option }

(* A function with its captured variables: names, and types if they are useful, in the order of its environment. *)
type function_ = { function_unit : int; function_file : string; from_line : int; to_line : int; captured : (string * int option) list }

type unit_ = {
  unit_name : string; source : string; cmt : string;
  interface : Digest.t option; implementation : Digest.t option; unit_layout : int option;
}

(* Items in the order of their numbers. *)
module Rows = struct
  type 'a t = { mutable rows : 'a array; mutable count : int }

  let create () = { rows = [||]; count = 0 }

  let add t row =
    if t.count = Array.length t.rows then begin
      let wider = Array.make (max 64 (2 * t.count)) row in
      Array.blit t.rows 0 wider 0 t.count;
      t.rows <- wider
    end;
    t.rows.(t.count) <- row;
    t.count <- t.count + 1;
    t.count - 1

  let get t number = t.rows.(number)
  let all t = Array.sub t.rows 0 t.count
end

let units : unit_ Rows.t = Rows.create ()
let types : type_ Rows.t = Rows.create ()
let declarations : declaration Rows.t = Rows.create ()
let extensions : extension Rows.t = Rows.create ()
let layouts : layout Rows.t = Rows.create ()
let failures : (string * string) Rows.t = Rows.create ()
let sites : (site, unit) Hashtbl.t = Hashtbl.create 100_000
let variables : (int * int, variable) Hashtbl.t = Hashtbl.create 10_000 (* by unit and stamp *)
let functions : function_ Rows.t = Rows.create ()

(* Equal types are stored once. The hash goes deep enough to distinguish wide tuples. *)
module Numbers = Hashtbl.Make (struct
  type t = type_

  let equal = ( = )
  let hash = Hashtbl.hash_param 30 60
end)

let numbers : int Numbers.t = Numbers.create 10_000

let type_ t =
  match Numbers.find_opt numbers t with
  | Some number -> number
  | None ->
      let number = Rows.add types t in
      Numbers.add numbers t number;
      number

let site s = Hashtbl.replace sites s ()
let variable v = Hashtbl.replace variables (v.unit_of, v.stamp) v

(* A type in OCaml syntax; [depth] limits the size of deeply nested types. *)
let rec show ?(depth = 6) number =
  let atom of_ =
    let text = show ~depth:(depth - 1) of_ in
    match Rows.get types of_ with Tuple _ | Arrow _ -> "(" ^ text ^ ")" | _ -> text
  in
  if depth = 0 then "_"
  else
    match Rows.get types number with
    | Variable n when n < 26 -> Printf.sprintf "'%c" (Char.chr (97 + n))
    | Variable n -> Printf.sprintf "'t%d" n
    | Constructed (declaration, arguments) -> (
        let name = (Rows.get declarations declaration).name in
        match arguments with
        | [] -> name
        | [ one ] -> atom one ^ " " ^ name
        | several -> Printf.sprintf "(%s) %s" (String.concat ", " (List.map (show ~depth:(depth - 1)) several)) name)
    | Tuple parts -> String.concat " * " (List.map atom parts)
    | Arrow (label, argument, result) ->
        let label = if label = "" then "" else label ^ ":" in
        let argument_text =
          match Rows.get types argument with
          | Arrow _ -> "(" ^ show ~depth:(depth - 1) argument ^ ")"
          | _ -> show ~depth:(depth - 1) argument
        in
        Printf.sprintf "%s%s -> %s" label argument_text (show ~depth:(depth - 1) result)
    | Package (name, _) -> Printf.sprintf "(module %s)" name
    | Object text | Opaque text -> text

open Wire

let put_type sink = function
  | Variable n -> byte sink 0; varint sink n
  | Constructed (declaration, arguments) -> byte sink 1; varint sink declaration; list varint sink arguments
  | Tuple parts -> byte sink 2; list varint sink parts
  | Arrow (label, argument, result) -> byte sink 3; text sink label; varint sink argument; varint sink result
  | Package (name, layout) -> byte sink 4; text sink name; varint sink layout
  | Object shown -> byte sink 5; text sink shown
  | Opaque shown -> byte sink 6; text sink shown

let put_field sink f = text sink f.field; bool sink f.is_mutable; varint sink f.of_

let put_constructor sink (c : constructor) =
  text sink c.constructor; varint sink c.tag; list put_field sink c.arguments; option (list varint) sink c.result

let put_case sink c = text sink c.case; integer sink c.hash; option varint sink c.argument
let representation sink r = byte sink (match r with Boxed -> 0 | Unboxed -> 1 | Floats -> 2)

let put_kind sink = function
  | Abstract why -> byte sink 0; text sink why
  | Alias of_ -> byte sink 1; varint sink of_
  | Record (r, fields) -> byte sink 2; representation sink r; list put_field sink fields
  | Variant (r, constructors) -> byte sink 3; representation sink r; list put_constructor sink constructors
  | Cases (cases, is_closed) -> byte sink 4; list put_case sink cases; bool sink is_closed
  | Open -> byte sink 5
  | Builtin builtin ->
      byte sink 6;
      byte sink
        (match builtin with
        | Immediate -> 0 | String -> 1 | Bytes -> 2 | Float -> 3 | Int32 -> 4 | Int64 -> 5 | Nativeint -> 6
        | Array -> 7 | Floatarray -> 8 | Lazy -> 9)

let put_declaration sink d = text sink d.name; varint sink d.arity; put_kind sink d.kind; option varint sink d.generic

let put_extension sink (e : extension) =
  text sink e.extension; varint sink e.extends; list varint sink e.result; list put_field sink e.arguments

let put_item sink (name, item) =
  text sink name;
  match item with
  | Value of_ -> byte sink 0; varint sink of_
  | Extension e -> byte sink 1; varint sink e
  | Module layout -> byte sink 2; varint sink layout
  | Other what -> byte sink 3; text sink what

let put_layout sink l = text sink l.layout; list put_item sink l.fields; varint sink l.public

let put_unit sink u =
  text sink u.unit_name; text sink u.source; text sink u.cmt;
  option digest sink u.interface; option digest sink u.implementation; option varint sink u.unit_layout

let kind_number = function
  | S_constructor -> 0 | S_record -> 1 | S_tuple -> 2 | S_array -> 3 | S_case -> 4 | S_extension -> 5 | S_closure -> 6
  | S_lazy -> 7 | S_object -> 8 | S_module -> 9 | S_primitive -> 10 | S_partial -> 11 | S_other -> 12

let put_site sink s =
  varint sink s.unit; text sink s.file; varint sink s.line; varint sink s.start; varint sink s.stop;
  byte sink (kind_number s.site); option byte sink s.block_tag; option varint sink s.words; varint sink s.type_;
  text sink s.what

let put_scope sink s =
  text sink s.scope_file; varint sink s.first; varint sink s.last; bool sink s.of_parameter

let put_variable sink v =
  varint sink v.unit_of; varint sink v.stamp;
  put_item sink (v.variable, v.item);
  option put_scope sink v.scope

let put_function sink f =
  varint sink f.function_unit; text sink f.function_file; varint sink f.from_line; varint sink f.to_line;
  list (fun sink (name, of_) -> text sink name; option varint sink of_) sink f.captured

let put_failure sink (file, reason) = text sink file; text sink reason

let save file =
  let sites = Array.of_seq (Hashtbl.to_seq_keys sites) in
  let place s = (s.file, s.line, s.start, s.stop) in
  Array.sort (fun a b -> compare (place a, kind_number a.site, a) (place b, kind_number b.site, b)) sites;
  let variables = Array.of_seq (Hashtbl.to_seq_values variables) in
  Array.sort (fun a b -> compare (a.unit_of, a.stamp) (b.unit_of, b.stamp)) variables;
  let sink = sink () in
  varint sink 3;
  text sink Sys.ocaml_version;
  array put_unit sink (Rows.all units);
  array put_type sink (Rows.all types);
  array put_declaration sink (Rows.all declarations);
  array put_extension sink (Rows.all extensions);
  array put_layout sink (Rows.all layouts);
  array put_site sink sites;
  array put_variable sink variables;
  array put_function sink (Rows.all functions);
  array put_failure sink (Rows.all failures);
  Wire.save sink file

let summary () =
  Printf.sprintf "%d units, %d types, %d declarations, %d sites, %d failures" units.count types.count declarations.count
    (Hashtbl.length sites) failures.count
