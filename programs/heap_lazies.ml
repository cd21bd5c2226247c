(* Lazy values: not yet forced, forced to something small or large, to a float or another lazy value (which
   cannot be shortened away), failed ones, and streams forced in part. *)

let unforced = List.init 1_000 (fun n -> lazy (string_of_int n))
let forced = List.init 1_000 (fun n -> lazy (string_of_int n))
let numbers = Array.init 500 (fun n -> lazy (n * n))
let floats = Array.init 500 (fun n -> lazy (float_of_int n /. 3.))
let twice = Array.init 300 (fun n -> lazy (lazy (Some n)))
let failed = List.init 100 (fun n -> lazy (failwith (string_of_int n)))
let given = List.init 100 (fun n -> Lazy.from_val (Sys.opaque_identity (string_of_int n)))

type stream = Cons of int * stream Lazy.t

let rec from n = Cons (n, lazy (from (n + 1)))
let naturals = from 0

let rec advance n (Cons (_, rest)) = if n > 0 then advance (n - 1) (Lazy.force rest)

let () =
  List.iter (fun value -> ignore (Lazy.force value)) forced;
  Array.iter (fun value -> ignore (Lazy.force value)) numbers;
  Array.iter (fun value -> ignore (Lazy.force value)) floats;
  Array.iter (fun value -> ignore (Lazy.force value)) twice;
  List.iter (fun value -> try Lazy.force value with Failure _ -> ()) failed;
  advance 5_000 naturals;
  Heap_fixture.keep (unforced, given);
  Heap_fixture.ready ()
