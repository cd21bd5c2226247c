(* Closures: with environments of every kind, partial applications, and functions that are defined together,
   whose closures are parts of one block: pointers into its middle. *)

let adders = List.init 1_000 (fun n m -> n + m)
let texts = List.init 500 (fun n -> let text = string_of_int n in fun () -> text)
let volume a b c = a * b * c
let partial = List.init 300 (fun n -> volume n (n + 1))
let composed = List.fold_left (fun f n x -> f (x + n)) Fun.id (List.init 2_000 Fun.id)

(* Three functions over one environment. Only the second, or only the third, is kept of some. *)
let together n =
  let label = ref (string_of_int n) in
  let rec first m = if m = 0 then !label else second (m - 1)
  and second m = if m = 0 then !label ^ "!" else third m (m - 1)
  and third m k = if m = k then !label else first k in
  (first, second, third)

let seconds = List.init 700 (fun n -> let _, second, _ = together n in second)
let thirds = Array.init 700 (fun n -> let _, _, third = together n in third)

(* With floats in the environment, which are boxed or not as the compiler likes. *)
let floats = List.init 100 (fun n -> let x = float_of_int n *. 0.5 in fun y -> x +. y)

(* Closures that hold closures. *)
let rec tower n inner = if n = 0 then inner else tower (n - 1) (fun x -> if x = n then x else inner (x + 1))
let high = tower 10_000 Fun.id

let () = Heap_fixture.keep (adders, texts, partial, composed, seconds, thirds, floats, high)
let () = Heap_fixture.ready ()
