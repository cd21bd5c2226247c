(* Many allocations by C code with none by OCaml code between: what a recorder keeps until OCaml code allocates
   is never called for.
   Usage: c_allocations deep|flat|flat-peak. "deep": each within a recursion of its own depth. "flat": all in one
   loop; "flat-peak" prints in the end how much memory the process had at most, in kB. *)

let count = 40_000

(* As List.map was until OCaml 5.1: conses on the way back only. *)
let rec map f = function
  | [] -> []
  | first :: others ->
      let first = f first in
      first :: map f others

let rec descend depth f = if depth = 0 then f () else 1 + descend (depth - 1) f

let flat () =
  for _ = 1 to 300_000 do
    ignore (Sys.opaque_identity (Bytes.create 16))
  done;
  0

let peak () =
  let status = open_in "/proc/self/status" in
  let rec find () =
    let line = input_line status in
    match Scanf.sscanf line "VmHWM: %d" Fun.id with
    | kilobytes -> kilobytes
    | exception Scanf.Scan_failure _ -> find ()
  in
  find ()

let () =
  match Sys.argv.(1) with
  | "deep" ->
      let lengths = List.init count (fun n -> n land 63) in
      Printf.printf "%d\n" (List.length (map Bytes.create lengths))
  | "flat" -> Printf.printf "%d\n" (descend 100 flat)
  | "flat-peak" ->
      ignore (descend 100 flat);
      Printf.printf "%d\n" (peak ())
  | unknown -> invalid_arg unknown
