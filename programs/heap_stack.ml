(* A deep stack: every frame holds values that nobody else does, through functions with arguments on the stack,
   exception handlers, and a call from C. *)

let rec deep n =
  let text = string_of_int n and pair = (n, [ n ]) in
  if n = 0 then Heap_fixture.ready () else if n mod 100 = 0 then guarded n else deep (n - 1);
  Heap_fixture.keep (text, pair)

and guarded n = try many n 1 2 3 4 5 6 7 8 9 10 11 (string_of_int n) with Exit -> ()

and many n a b c d e f g h i j k text =
  let sum = [| a + b; c + d; e + f; g + h; i + j; k |] in
  deep (n - 1);
  Heap_fixture.keep (sum, text)

(* The runtime calls finalisers from C: what waits is below such a call. *)
let () =
  Gc.finalise (fun _ -> deep 3_000) (ref "dying");
  Gc.full_major ();
  print_endline "the finaliser was not called"
