(* Finalisers of both kinds: on values that live, with functions that hold something; values that are alive only
   because of them; on some that died and were called. *)

let alive = Array.init 500 (fun n -> ref (string_of_int n))
let called = ref 0

(* Functions, each with an environment of its own. *)
let first n = let held = string_of_int n in fun value -> if !value = held then incr called
let last n = let held = ref n in fun () -> held := !held + 1; incr called

(* A finaliser that brings its value back: from then on it is alive. *)
let risen = ref []

let () =
  Array.iteri (fun n value -> Gc.finalise (first n) value) alive;
  Array.iteri (fun n value -> if n mod 2 = 0 then Gc.finalise_last (last n) value) alive;
  for n = 1 to 200 do
    Gc.finalise (first n) (ref (string_of_int n));
    Gc.finalise_last (last n) (ref n);
    if n mod 10 = 0 then Gc.finalise (fun value -> risen := value :: !risen) (Array.make n "risen")
  done;
  Heap_fixture.ready ()
