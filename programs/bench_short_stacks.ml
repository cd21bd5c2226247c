(* Work for `cargo xtask bench record`: small blocks, most of them short-lived, from stacks of a few
   frames. Does the same in every run. Usage: bench_short_stacks [ROUNDS]; 400 take one or two seconds. *)

let table : (string, (int * string) list) Hashtbl.t = Hashtbl.create 1_000
let recent = Array.make 20_000 []

(* Lists are short, because the functions on them are recursive: long ones would make deep stacks. *)
let lists number =
  let numbers = List.init 10 (fun n -> n * number land 1_023) in
  let pairs = List.rev_map (fun n -> (n, n + number)) numbers in
  let swapped = List.map (fun (a, b) -> (b, a)) (List.filter (fun (a, _) -> a land 1 = 0) pairs) in
  List.fold_left (fun sum (a, b) -> sum + (a lxor b)) 0 (List.sort compare swapped)

let strings number =
  let text = String.concat " " (List.init 5 (fun n -> string_of_int (n * number))) in
  List.fold_left (fun sum word -> sum + String.length word) 0 (String.split_on_char ' ' text)

let tables number =
  let key = "key" ^ string_of_int (number land 4_095) in
  let old = Option.value (Hashtbl.find_opt table key) ~default:[] in
  Hashtbl.replace table key (if List.length old > 8 then [] else (number, key) :: old);
  List.length old

let floats number =
  let point = (float_of_int number, float_of_int (number land 7)) in
  let sum = fst (Sys.opaque_identity point) +. snd point in
  if number land 15 = 0 then recent.(number mod 20_000) <- [ sum; fst point ];
  int_of_float sum land 0xFFFF

let () =
  let rounds = if Array.length Sys.argv > 1 then int_of_string Sys.argv.(1) else 400 in
  let sum = ref 0 in
  for number = 1 to 2_000 * rounds do
    sum := !sum + lists number + strings number + tables number + floats number
  done;
  Printf.printf "%d\n" !sum
