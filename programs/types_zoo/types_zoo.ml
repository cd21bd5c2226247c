(* Values of every kind of type, each kept by a global: what a table of types has to tell apart. Waits as heap_fixture.ml says. *)

let opaque = Sys.opaque_identity

(* Records, variants, and what is not stored as it is written. *)

type point = { x : int; mutable y : string }
type speeds = { fast : float; mutable slow : float }
type 'a tree = Leaf | Node of { left : 'a tree; value : 'a; right : 'a tree } | Pair of 'a * 'a tree
type wrapped = Wrapped of point [@@unboxed]
type alone = { only : string list } [@@unboxed]
type ('key, 'value) table = ('key, 'value) Hashtbl.t
type celsius = private float
type color = Red | Green | Blue of int

let point = { x = opaque 1; y = "one" }
let moved = { point with y = opaque "two" }
let speeds = { fast = opaque 1.5; slow = 2.5 }
let tree = Node { left = Pair (opaque "a", Leaf); value = "b"; right = Leaf }
let wrapped = Wrapped { x = opaque 3; y = "three" }
let alone = { only = [ opaque "only" ] }
let colors = [ Red; Blue (opaque 7); Green ]

(* Types that say what they construct, and what they hide. *)

type _ term =
  | Int : int -> int term
  | Text : string -> string term
  | Both : 'a term * 'b term -> ('a * 'b) term
  | Choice : bool term * 'a term * 'a term -> 'a term
  | Truth : bool term

type shown = Shown : 'a * ('a -> string) -> shown

let term = Both (Int (opaque 1), Choice (Truth, Text "yes", Text (opaque "no")))
let shown = [ Shown (opaque 1, string_of_int); Shown ([ "list" ], String.concat (opaque ",")) ]

(* Polymorphic variants, also of themselves. *)

type shape = [ `Circle of float | `Group of shape list | `Point ]

let shape : shape = `Group [ `Circle (opaque 2.5); `Point ]
let answer = opaque (`Yes (opaque 1, "one"))
let rec numbers n = if n = 0 then `End else `More (n, numbers (n - 1))
let numbers = numbers (opaque 3)

(* Objects and classes. *)

class counter start =
  object
    val mutable count : int = start
    method count = count
    method step = count <- count + 1
  end

let counter = new counter (opaque 5)
let greeter = object method greet name = opaque "hello " ^ name end
let step c = c#step

(* Modules: applied functors, some without names, some behind signatures; as values; of each other. *)

module String_map = Map.Make (String)

module Int_map = Map.Make (struct
  type t = int

  let compare = compare
end)

module String_set = Set.Make (String)

module Names = Hashtbl.Make (struct
  include String

  let hash = Hashtbl.hash
end)

module type Queue_like = sig
  type 'a t

  val empty : 'a t
  val push : 'a -> 'a t -> 'a t
end

module Fast : Queue_like = struct
  type 'a t = { front : 'a list; back : 'a list }

  let made = ref (opaque 0)
  let empty = { front = []; back = [] }

  let push item queue =
    incr made;
    { queue with back = item :: queue.back }
end

module type Item = sig
  type t

  val zero : t
end

module Buffered (Item : Item) = struct
  type entry = { item : Item.t; rank : int }
  type t = entry list

  module Index = Map.Make (Int)

  let make ranks : t = List.map (fun rank -> { item = Item.zero; rank }) ranks
  let index entries = List.fold_left (fun map entry -> Index.add entry.rank entry map) Index.empty entries
end

module Buffered_text = Buffered (struct
  type t = string

  let zero = opaque "zero"
end)

module rec Even : sig
  type t = Zero | After of Odd.t

  val make : int -> t
end = struct
  type t = Zero | After of Odd.t

  let make n = if n = 0 then Zero else After (Odd.make (n - 1))
end

and Odd : sig
  type t = Next of Even.t

  val make : int -> t
end = struct
  type t = Next of Even.t

  let make n = Next (Even.make (n - 1))
end

let by_name = String_map.singleton (opaque "name") point
let by_number = Int_map.of_seq (List.to_seq [ (opaque 1, "one"); (2, "two") ])
let name_set = String_set.of_list [ opaque "a"; "b" ]

let names =
  let names = Names.create 3 in
  Names.add names (opaque "n") 1.5;
  names

let queue = Fast.push (opaque "pushed") Fast.empty
let buffered = Buffered_text.make [ opaque 1; 2 ]
let buffered_index = Buffered_text.index buffered
let even = Even.make (opaque 4)
let item = (module struct type t = int list let zero = [ opaque 3 ] end : Item)

let pair = (module struct type t = int * string let zero = (opaque 1, "zero") end : Item with type t = int * string)

let local =
  let module Local = struct
    type t = { inside : string }
  end in
  let value = { Local.inside = opaque "inside" } in
  fun () -> value.Local.inside

(* What the standard library has. *)

let hashed : (string, point list) table =
  let table = Hashtbl.create 4 in
  Hashtbl.replace table (opaque "key") [ point ];
  table

let waiting = Queue.of_seq (List.to_seq [ opaque (1, "first") ])
let written = let buffer = Buffer.create (opaque 10) in Buffer.add_string buffer "text"; buffer
let suspended = lazy (opaque 1 + List.length colors)
let forced = let suspension = lazy (string_of_int (opaque 12)) in ignore (Lazy.force suspension); suspension
let sequence = Seq.cons (opaque 1) Seq.empty

(* Numbers, arrays, functions, exceptions. *)

let floats = Array.init (opaque 3) float_of_int
let flat = Float.Array.make (opaque 2) 0.5
let boxed = [| Int32.of_int (opaque 1); 2l |]
let wide = (Int64.of_int (opaque 1), Nativeint.of_int (opaque 2))
let add_to first = fun second -> first + second
let add_one = add_to (opaque 1)
let partial = List.map (fun n -> n + opaque 1)
let counted = ref (opaque [ 1 ])

exception Lost of { where : string; when_ : int }
exception Wrong of string

type message = ..
type message += Ping of int | Quiet

let errors = [ Lost { where = opaque "here"; when_ = 1 }; Wrong (opaque "w"); Not_found; Failure (opaque "f"); Types_zoo_store.Full 3 ]
let messages : message list = [ Ping (opaque 1); Quiet ]
let store = (Types_zoo_store.shared, Types_zoo_store.boxed, Types_zoo_store.Inner.first)

let () =
  Heap_fixture.keep (step, local, shown, queue);
  Heap_fixture.ready ()
