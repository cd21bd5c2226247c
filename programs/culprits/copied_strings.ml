(* The same few words are cut out of every line, and each time kept as a string of their own. *)

let line n = Printf.sprintf "2026-11-%02d frontend-server-%d WARNING connection reset by peer (%d)" (1 + (n mod 28)) (n mod 7) n

type record = { host : string; level : string; text : string }

let records : record list ref = ref []

let read line =
  let host = String.sub line 11 17 in
  let level = String.sub line 29 7 in
  let text = String.sub line 37 24 in
  records := { host; level; text } :: !records

let () =
  let lines = int_of_string Sys.argv.(1) in
  for n = 1 to lines do read (line n) done;
  Printf.printf "%d\n" (List.length !records)
