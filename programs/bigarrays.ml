(* Memory outside the OCaml heap: arrays that the runtime only has a handle of, sharing their data with
   parts of themselves and with a file (mapped.bin, which it writes). *)

open Bigarray

let sum array =
  let total = ref 0. in
  for i = 0 to Array1.dim array - 1 do
    total := !total +. array.{i}
  done;
  !total

let many () =
  let total = ref 0 in
  for n = 1 to 500 do
    let array = Array1.create int c_layout (n * 10) in
    Array1.fill array n;
    total := !total + array.{n}
  done;
  !total

let mapped () =
  let size = 10_000 in
  let file = Unix.openfile "mapped.bin" [ O_RDWR; O_CREAT; O_TRUNC ] 0o600 in
  let shared = array1_of_genarray (Unix.map_file file int32 c_layout true [| size |]) in
  Unix.close file;
  for i = 0 to size - 1 do
    shared.{i} <- Int32.of_int (i * i)
  done;
  let bytes = (Unix.stat "mapped.bin").st_size in
  (bytes, Int32.to_int shared.{size - 1})

let () =
  let big = Array1.of_array float64 c_layout (Array.init 50_000 float_of_int) in
  let part = Array1.sub big 1_000 100 in
  part.{0} <- -1.;
  Printf.printf "sums: %.0f, %.0f\n" (sum big) (sum part);
  let matrix = Array2.of_array float32 c_layout (Array.init 100 (fun i -> Array.init 50 (fun j -> float_of_int (i * j)))) in
  Printf.printf "matrix: %.0f\n" (sum (Array2.slice_left matrix 50));
  Printf.printf "many: %d\n" (many ());
  Gc.full_major ();
  let bytes, last = mapped () in
  Printf.printf "mapped: %d bytes, %d\n" bytes last;
  let letters n = Array1.of_array char c_layout (Array.init (1 lsl (n / 2)) (fun i -> Char.chr (i land 127))) in
  let kept = List.init 20 letters in
  Gc.compact ();
  let last array = Char.code array.{Array1.dim array - 1} in
  Printf.printf "kept: %d\n" (List.fold_left (fun total array -> total + last array) 0 kept)
