(* What has no pointers: strings and bytes of all sizes, floats, arrays and records of floats; and arrays that
   are large, some with pointers. The secret is looked for in files that must not hold it. *)

type vector = { x : float; y : float; mutable z : float }

let secret = String.concat "-" [ "the"; "secret"; string_of_int (Sys.opaque_identity 4711) ]
let strings = List.init 300 (fun n -> String.make n (Char.chr (65 + (n mod 26))))
let long = [ Bytes.create 100_000; Bytes.make 1_000_000 'z' ]
let floats = List.init 1_000 (fun n -> float_of_int n *. 1.25)
let rows = Array.init 100 (fun n -> Array.make n 0.5)
let flat = Array.make 200_000 3.25
let vectors = List.init 500 (fun n -> { x = float_of_int n; y = 1.; z = 2. })
let large = Array.init 30_000 (fun n -> if n mod 2 = 0 then Some n else None)
let integers = Array.init 50_000 Fun.id
let text = Buffer.create 10

let () =
  for n = 1 to 10_000 do
    Buffer.add_string text (string_of_int n)
  done;
  (match vectors with vector :: _ -> vector.z <- 5. | [] -> ());
  Heap_fixture.keep (secret, strings, long, floats, rows, flat, vectors, large, integers);
  Heap_fixture.ready ()
