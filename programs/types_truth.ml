(* Values of many types, each of which knows its own: `know` notes a block with its type as a person writes it. At the end, addresses and
   types are written to the file that is named, so that what is found out from outside can be compared block by block. *)

let opaque = Sys.opaque_identity

type known = Known : 'a * string -> known

let truth : known list ref = ref []

let know name value =
  if Obj.is_block (Obj.repr value) then truth := Known (value, name) :: !truth;
  value

(* What nobody can find out, but may not be taken for something else either. *)
let unsure name value = know ("?" ^ name) value

(* What has several right names has them with tabs between. *)
let either_of names = String.concat "\t" names

(* Every node of a structure whose type hides it: those fields point to more nodes. *)
let rec know_nodes name fields node =
  if Obj.is_block node then begin
    ignore (know name node);
    List.iter (fun field -> know_nodes name fields (Obj.field node field)) fields
  end

(* Every cell of a list, and every element by its own function. *)
let rec know_list name item list =
  match know (name ^ " list") list with
  | [] -> ()
  | first :: rest ->
      item first;
      know_list name item rest

let string text = ignore (know "string" text)
let float number = ignore (know "float" number)
let nothing _ = ()
let count = 200
let numbers = List.init count (fun n -> n)

(* Records and variants. *)

type point = { x : int; mutable label : string }
type speeds = { fast : float; mutable slow : float }
type 'a tree = Leaf | Node of { left : 'a tree; value : 'a; right : 'a tree } | Pair of 'a * 'a tree
type wrapped = Wrapped of point [@@unboxed]
type color = Red | Green | Blue of int | Mixed of color * color
type ('a, 'b) either = Left of 'a | Right of 'b

let point n = know "Types_truth.point" { x = n; label = know "string" (string_of_int n) }
let know_point p = ignore (know "Types_truth.point" p); string p.label
let points = List.map point numbers
let () = know_list "Types_truth.point" know_point points
let speeds = List.map (fun n -> know "Types_truth.speeds" { fast = float_of_int n; slow = 0.5 }) numbers
let wrapped = List.map (fun n -> Wrapped (point n)) numbers

let rec tree n =
  if n = 0 then Leaf
  else if n mod 5 = 0 then know "string Types_truth.tree" (Pair (know "string" (string_of_int n), tree (n - 1)))
  else
    let value = know "string" (string_of_int n) in
    know "string Types_truth.tree" (Node { left = tree (n / 2); value; right = tree ((n - 1) / 2) })

let strings = tree (opaque 500)

let rec point_tree n =
  if n = 0 then Leaf
  else know "Types_truth.point Types_truth.tree" (Node { left = point_tree (n / 2); value = point n; right = Leaf })

let point_trees = [| point_tree (opaque 1000); point_tree 77 |]
let () = ignore (know "Types_truth.point Types_truth.tree array" point_trees)

let colors =
  let mix n = know "Types_truth.color" (Mixed (know "Types_truth.color" (Blue n), if n mod 2 = 0 then Red else Green)) in
  Array.init count mix

let () = ignore (know "Types_truth.color array" colors)

let eithers =
  let make n =
    if n mod 2 = 0 then know "(string, float) Types_truth.either" (Left (know "string" (string_of_int n)))
    else know "(string, float) Types_truth.either" (Right (know "float" (float_of_int n)))
  in
  List.map make numbers

let () = know_list "(string, float) Types_truth.either" nothing eithers

(* Tuples and options. *)

let tuples = List.map (fun n -> know "int * string * float" (n, string_of_int n, float_of_int n)) numbers
let () = know_list "(int * string * float)" (fun (_, s, f) -> string s; float f) tuples
let options = List.map (fun n -> if n mod 3 = 0 then None else know "Types_truth.point option" (Some (point n))) numbers
let () = know_list "Types_truth.point option" nothing options
let results = List.map (fun n -> if n mod 2 = 0 then know "(string, int) result" (Ok (string_of_int n)) else Error n) numbers

(* Types that say what they construct, and what they hide. *)

type _ term =
  | Int : int -> int term
  | Text : string -> string term
  | Both : 'a term * 'b term -> ('a * 'b) term
  | Choice : bool term * 'a term * 'a term -> 'a term
  | Truth : bool term

type shown = Shown : 'a * ('a -> string) -> shown

let text n = know "string Types_truth.term" (Text (know "string" (string_of_int n)))
let choice n = know "string Types_truth.term" (Choice (Truth, text n, text (n + 1)))
let both n = know "(int * string) Types_truth.term" (Both (know "int Types_truth.term" (Int n), choice n))
let terms = List.map both numbers
let shown = List.map (fun n -> know "Types_truth.shown" (if n mod 2 = 0 then Shown (n, string_of_int) else Shown (point n, fun p -> p.label))) numbers

(* Polymorphic variants. *)

type shape = [ `Circle of float | `Group of shape list | `Point ]

let shape_type = "[ `Circle of float | `Group of Types_truth.shape list | `Point ]"

let shape n : shape =
  let circle = `Circle (float_of_int n) in
  know shape_type (`Group [ know shape_type circle; `Point ])

let shapes = List.map shape numbers

(* Modules: functors with named and unnamed arguments, signatures, values. *)

module String_map = Map.Make (String)

module Int_map = Map.Make (struct
  type t = int

  let compare = compare
end)

module String_set = Set.Make (String)

let by_name = List.fold_left (fun map n -> String_map.add (string_of_int n) (point n) map) String_map.empty numbers
let by_number = List.fold_left (fun map n -> Int_map.add n (string_of_int n) map) Int_map.empty numbers
let name_set = List.fold_left (fun set n -> String_set.add (string_of_int n) set) String_set.empty numbers
let () = know_nodes "Types_truth.point Map.Make(String).t" [ 0; 3 ] (Obj.repr by_name)
let () = know_nodes "string Types_truth.Int_map.t" [ 0; 3 ] (Obj.repr by_number)
let () = know_nodes "Set.Make(String).t" [ 0; 2 ] (Obj.repr name_set)

module type Item = sig
  type t

  val make : int -> t
end

module Text_item = struct
  type t = string

  let make n = know "string" (string_of_int n)
end

module Point_item = struct
  type t = point

  let make = point
end

(* Applied one after the other, and with modules and types of their own. *)
module Pair (A : Item) (B : Item) = struct
  type t = { one : A.t; two : B.t }

  module Inner = struct
    type 'a chain = Stop | Step of { item : A.t; extra : 'a; rest : 'a chain }
  end

  let make n = { one = A.make n; two = B.make n }
  let rec chain n = if n = 0 then Inner.Stop else Inner.Step { item = A.make n; extra = B.make n; rest = chain (n - 1) }
end

module Text_point = Pair (Text_item) (Point_item)

let pair_type = "Types_truth.Pair(Types_truth.Text_item)(Types_truth.Point_item)"
let pairs = List.map (fun n -> know (either_of [ pair_type ^ ".t"; "Types_truth.Text_point.t" ]) (Text_point.make n)) numbers
let chain = Text_point.chain (opaque count)

let () =
  let names = [ pair_type ^ ".Inner.chain"; "Types_truth.Text_point.Inner.chain" ] in
  know_nodes (either_of (List.map (( ^ ) "Types_truth.point ") names)) [ 2 ] (Obj.repr chain)

module type Shown = sig
  type t

  val value : t
  val show : t -> string
end

let modules =
  let make n =
    let module M = struct
      type t = string

      let value = string_of_int n
      let show text = text
    end in
    know "(module Types_truth.Shown)" (module M : Shown)
  in
  List.map make numbers

(* A type of a local module, which is known only if it was sampled. *)
type any = Any : 'a -> any

let locals =
  let module Local = struct
    type t = { here : string; number : int }
  end in
  List.map (fun n -> Any (know "Types_truth.Local.t" { Local.here = string_of_int n; number = n })) numbers

module type Stack_like = sig
  type 'a t

  val empty : 'a t
  val push : 'a -> 'a t -> 'a t
end

module Hidden : Stack_like = struct
  type 'a t = { items : 'a list; size : int }

  let empty = { items = []; size = 0 }
  let push item stack = { items = item :: stack.items; size = stack.size + 1 }
end

let hidden = List.map (fun n -> know "Types_truth.point Types_truth.Hidden.t" (Hidden.push (point n) Hidden.empty)) numbers

(* The standard library. *)

let hashed : (string, point list) Hashtbl.t =
  let table = Hashtbl.create 16 in
  List.iter (fun n -> Hashtbl.replace table (know "string" (string_of_int n)) [ point n ]) numbers;
  table

let () =
  let buckets = Obj.field (Obj.repr hashed) 1 and name = "(string, Types_truth.point list) Hashtbl." in
  ignore (know (name ^ "t") hashed);
  ignore (know (name ^ "bucketlist array") buckets);
  for at = 0 to Obj.size buckets - 1 do
    know_nodes (name ^ "bucketlist") [ 2 ] (Obj.field buckets at)
  done

let queue : point Queue.t = Queue.create ()
let () = List.iter (fun n -> Queue.push (point n) queue) numbers
let () = ignore (know "Types_truth.point Queue.t" queue)
let () = know_nodes "Types_truth.point Queue.cell" [ 1 ] (Obj.field (Obj.repr queue) 1)
let buffer = Buffer.create 100
let () = Buffer.add_string buffer "text"; ignore (know "Buffer.t" buffer)
let forced = List.map (fun n -> let l = lazy (point (opaque n)) in ignore (Lazy.force l); l) numbers
let suspended = List.map (fun n -> know "Types_truth.point Lazy.t" (lazy (point (opaque n)))) numbers
let reference = know "Types_truth.point list ref" (ref points)
let arrays = List.map (fun n -> know "string array" (Array.make 3 (string_of_int n))) numbers
let floats = List.map (fun n -> know "float array" (Array.make 3 (float_of_int n))) numbers
let boxed = List.map (fun n -> know "int64" (Int64.of_int n)) numbers
let small = List.map (fun n -> know "int32" (Int32.of_int n)) numbers

let many_floats = List.map (fun n -> know "floatarray" (Float.Array.make 3 (float_of_int n))) numbers
let sequence = List.map (fun n -> know "string Seq.node" (Seq.Cons (know "string" (string_of_int n), Seq.empty))) numbers
let stack = List.fold_left (fun stack n -> Stack.push (point n) stack; stack) (Stack.create ()) numbers
let () = ignore (know "Types_truth.point Stack.t" stack)

(* Unboxed records are what is in them. *)

type 'a box = { inside : 'a } [@@unboxed]

let boxes = List.map (fun n -> { inside = point n }) numbers
let () = know_list "Types_truth.point Types_truth.box" (fun { inside } -> know_point inside) boxes

(* Functions and objects. *)

class counter start =
  object
    val mutable count = start
    val label = string_of_int start
    method next = count <- count + 1; count
    method label = label
  end

let adders = List.map (fun n -> know "int -> int" (fun m -> m + opaque n)) numbers
let formats = List.map (fun n -> know "string -> string" (Printf.sprintf "%d %s" n)) numbers
let counters = List.map (fun n -> know (either_of [ "Types_truth.counter"; "< label : string; next : int >" ]) (new counter n)) numbers
let named = List.map (fun n -> let name = string_of_int n in know "< name : string >" (object method name = name end)) numbers

(* Exceptions, and other types that can be extended. *)

exception Lost of string * int

type event = ..
type event += Key of string | Click of { place : int; target : string }

let errors = List.map (fun n -> know "exn" (Lost (know "string" (string_of_int n), n))) numbers
let failures = List.map (fun n -> know "exn" (if n mod 2 = 0 then Failure (string_of_int n) else Invalid_argument (string_of_int n))) numbers

let events =
  let event n = if n mod 2 = 0 then Key (string_of_int n) else Click { place = n; target = know "string" (string_of_int n) } in
  List.map (fun n -> know "Types_truth.event" (event n)) numbers

(* What only functions hold. *)

type entry = { key : string; mutable hits : int }
type page = { title : string; mutable views : int }

let new_entry n = { key = know "string" (string_of_int n); hits = n }
let entry n = know "Types_truth.entry" (new_entry n)
let page n = unsure "Types_truth.page" { title = know "string" (string_of_int n); views = n }
let kept : (unit -> int) list ref = ref []
let keep f = kept := f :: !kept

let remember n =
  let entry = entry n in
  keep (fun () -> String.length entry.key + opaque n)

(* They look alike: neither may be taken for the other. *)
let remember_both n =
  let entry = unsure "Types_truth.entry" (new_entry n) and page = page n in
  keep (fun () -> String.length entry.key + String.length page.title)

(* It can be anything, also what is beside it. *)
let remember_any n value =
  let entry = unsure "Types_truth.entry" (new_entry n) in
  keep (fun () -> entry.hits + Obj.size (Obj.repr value))

let () =
  List.iter remember numbers;
  List.iter remember_both numbers;
  List.iter (fun n -> remember_any n (page n)) numbers;
  List.iter (fun n -> remember_any n (unsure "string list" [ know "string" (string_of_int n) ])) numbers

(* What only frames hold: the program ends in the innermost one. *)

let rec descend finish entry depth =
  if depth = 0 then finish ()
  else begin
    let seen = know "(string * string) list" (pairs_of depth) in
    let below = descend finish (opaque (entry_of entry depth)) (depth - 1) in
    entry.hits <- entry.hits + below + List.length seen;
    entry.hits
  end

and pairs_of n = [ know "string * string" (know "string" (string_of_int n), know "string" (string_of_int (n + 1))) ]
and entry_of before n = if n < 0 then before else entry n

let finish () =
  let out = open_out Sys.argv.(1) in
  Gc.compact ();
  let write (Known (value, name)) =
    let address = Int64.shift_left (Int64.of_int (Obj.magic value : int)) 1 in
    Printf.fprintf out "%Lx\t%s\n" address name
  in
  List.iter write !truth;
  close_out out;
  ignore (opaque (strings, speeds, wrapped, tuples, results, terms, shown, shapes, hidden, forced, suspended, reference, arrays, floats, boxed, small, errors));
  ignore (opaque (pairs, modules, locals, many_floats, sequence, adders, formats, counters, named, failures, events));
  exit 0

let () = ignore (descend finish (entry 0) 300)
