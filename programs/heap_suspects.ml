(* Faults of a kind each, for `bactrian heap suspects`: a hash table that was made large and never used, an array of
   options that are almost all None, an array of one string, a long list, memory outside the heap, much that only the
   stack holds. *)

let unused : (int, string) Hashtbl.t = Hashtbl.create 60_000
let options : string option array = Array.make 50_000 None
let alike = Array.make 40_000 "the same"
let long = List.init 100_000 (fun n -> n)
let outside = Bigarray.Array1.create Bigarray.char Bigarray.c_layout 20_000_000

let () =
  for n = 0 to 99 do
    options.(n * 500) <- Some (string_of_int n)
  done

let rec on_the_stack depth =
  let mine = Array.init 20_000 (fun n -> string_of_int (n + depth)) in
  if depth = 0 then Heap_fixture.ready () else on_the_stack (depth - 1);
  Heap_fixture.keep mine

let () =
  Heap_fixture.keep (unused, alike, long, outside);
  on_the_stack 1
