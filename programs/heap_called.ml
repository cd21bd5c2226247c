(* A program that chooses when a snapshot is taken, with the library of ocaml/: of what it has just announced, once
   without a name, once with one. What it keeps afterwards is in neither. *)

let numbers = List.init 20_000 (fun n -> (n, string_of_int n))
let later = ref []

let () =
  Heap_fixture.announce ();
  Bactrian.snapshot ();
  Bactrian.snapshot ~name:"after loading" ();
  later := List.init 10_000 Fun.id;
  Heap_fixture.keep numbers;
  print_endline "done"
