(* A program that chooses when a snapshot is taken, with the library of ocaml/: of what it has just announced, once
   without a name, once with one. What it keeps afterwards is in neither.
   Usage: heap_called [COUNT]. With a number it takes so many, one after the other, and says what became of each. *)

let numbers = List.init 20_000 (fun n -> (n, string_of_int n))
let later = ref []

let outcome = function
  | Bactrian.Taken -> "taken"
  | Not_wanted -> "not wanted"
  | Skipped why -> "skipped: " ^ why

let () =
  if Array.length Sys.argv > 1 then begin
    for _ = 1 to int_of_string Sys.argv.(1) do
      print_endline (outcome (Bactrian.snapshot ()))
    done;
    exit 0
  end;
  Heap_fixture.announce ();
  ignore (Bactrian.snapshot ());
  ignore (Bactrian.snapshot ~name:"after loading" ());
  later := List.init 10_000 Fun.id;
  Heap_fixture.keep numbers;
  print_endline "done"
