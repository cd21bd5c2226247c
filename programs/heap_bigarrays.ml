(* Blocks of C: bigarrays of several kinds and shapes, slices that share their memory, boxed integers,
   channels. *)

open Bigarray

(* OCaml 4.11 has no Array1.init. *)
let vectors = List.init 50 (fun n -> Array1.of_array float64 c_layout (Array.init (n * 100) float_of_int))
let matrix = Array2.create int32 fortran_layout 300 200
let large = Array1.create char c_layout 8_000_000
let cube = Genarray.create complex32 c_layout [| 10; 20; 30 |]
let rows = List.init 100 (fun n -> Array2.slice_right matrix (n + 1))
let part = Array1.sub large 1_000 5_000
let shaped = reshape_1 (genarray_of_array1 part) 5_000
let empty = Array1.create int8_unsigned c_layout 0
let boxed = List.init 500 (fun n -> (Int32.of_int n, Int64.of_int n, Nativeint.of_int n))
let channels = List.init 5 (fun _ -> open_in "/dev/null")

let () =
  Array2.fill matrix 7l;
  Array1.fill large 'x';
  Heap_fixture.keep (vectors, cube, rows, part, shaped, empty, boxed, channels);
  Heap_fixture.ready ()
