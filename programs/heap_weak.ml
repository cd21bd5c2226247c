(* What retains nothing: weak arrays, ephemerons and sets of weak pointers, with keys that live and keys that
   died, and data that are alive only as long as their keys, over several steps. *)

let strong = Array.init 1_000 (fun n -> ref (string_of_int n))
let weak = Weak.create 2_000

module Strings = Weak.Make (struct
  type t = string ref

  let equal a b = !a = !b
  let hash text = Hashtbl.hash !text
end)

let set = Strings.create 10

(* The compilers' libraries differ in how ephemerons are made; below them is the same. *)
let ephemeron keys data =
  let cell = Obj.Ephemeron.create (List.length keys) in
  List.iteri (fun n key -> Obj.Ephemeron.set_key cell n key) keys;
  Obj.Ephemeron.set_data cell (Obj.repr data);
  cell

(* Each holds the key of the next: all are alive, but that is known only step by step. *)
let chain =
  let keys = Array.init 200 (fun n -> ref n) in
  let link n = ephemeron [ Obj.repr keys.(n) ] (Some keys.(n + 1)) in
  (keys.(0), List.init 199 link)

(* One whose data hold the key: alive only from elsewhere. *)
let cycle alive =
  let key = ref "key" in
  (ephemeron [ Obj.repr key ] (Array.make 10 key), if alive then Some key else None)

let cycles = List.init 100 (fun n -> cycle (n mod 2 = 0))

let pairs =
  List.init 300 (fun n ->
      let other = if n mod 3 = 0 then ref (string_of_int n) else strong.(n + 1) in
      ephemeron [ Obj.repr strong.(n); Obj.repr other ] (List.init 5 Fun.id))

let many = ephemeron (List.init 5 (fun n -> Obj.repr strong.(n))) (Array.init 20 string_of_int)
let kept = ref []

let () =
  for n = 0 to 999 do
    Weak.set weak n (Some strong.(n));
    Weak.set weak (n + 1_000) (Some (ref (string_of_int (-n))));
    kept := Strings.merge set strong.(n) :: !kept;
    ignore (Strings.merge set (ref (string_of_int (n + 100_000))))
  done;
  Heap_fixture.keep (chain, cycles, pairs, many);
  Heap_fixture.ready ()
