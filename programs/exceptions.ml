(* Exceptions of every origin, raised through many frames that allocate, with their backtraces: a
   recorder that disturbs the chain of handlers or the saved backtrace changes what this prints. *)

exception Found of int * string
exception Wrapped of exn

let show name f =
  match f () with
  | value -> Printf.printf "%s: %s\n" name value
  | exception e -> Printf.printf "%s: raised %s\n" name (Printexc.to_string e)

(* Allocates on the way down and on the way up. *)
let rec dive depth label =
  let label = label ^ String.make 1 (Char.chr (Char.code 'a' + (depth mod 26))) in
  if depth = 0 then raise (Found (String.length label, String.sub label 0 5))
  else
    let rest = try dive (depth - 1) label with Not_found -> "never" in
    rest ^ "!"

let rec rewrap depth =
  if depth = 0 then failwith "the innermost"
  else try rewrap (depth - 1) with e -> raise (Wrapped e)

let rec unwrap depth = function Wrapped e -> unwrap (depth + 1) e | e -> (depth, e)

let from_the_runtime =
  [
    ("array bound", fun () -> string_of_int [| 1; 2; 3 |].(Sys.opaque_identity 3));
    ("division", fun () -> string_of_int (1 / Sys.opaque_identity 0));
    ("not a number", fun () -> string_of_int (int_of_string "camel"));
    ("no variable", fun () -> Sys.getenv "BETTER_NOT_SET_ANYWHERE");
    ("no file", fun () -> input_line (open_in "no/such/file"));
    ("end of file", fun () -> input_line (open_in "/dev/null"));
    ("assertion", fun () -> assert (Sys.opaque_identity false); "held");
    ("too large", fun () -> string_of_int (Array.length (Array.make max_int 0)));
    ("damaged data", fun () -> Marshal.from_string (String.make 30 'x') 0);
  ]

(* Exceptions out of functions that OCaml code gets called from. *)
let from_callbacks () =
  let stop n = if n = 700 then raise Exit else n in
  (try ignore (Array.map stop (Array.init 1000 Fun.id)) with Exit -> print_endline "map stopped");
  (try List.iter (fun n -> ignore (stop n)) (List.init 1000 Fun.id)
   with Exit -> print_endline "iter stopped");
  try Array.sort (fun a b -> compare (stop a) b) (Array.init 1000 (fun n -> 999 - n))
  with Exit -> print_endline "sort stopped"

let protected () =
  let log = Buffer.create 16 in
  (try
     Fun.protect
       ~finally:(fun () -> Buffer.add_string log "cleaned ")
       (fun () ->
         Buffer.add_string log "entered ";
         raise Not_found)
   with Not_found -> Buffer.add_string log "caught");
  Buffer.contents log

(* Many cheap raises between many allocations. *)
let search () =
  let hits = ref 0 in
  for n = 1 to 20_000 do
    match List.find (fun m -> m = n mod 13) [ 1; 2; 3; 5; 8 ] with
    | m -> hits := !hits + m
    | exception Not_found -> decr hits
  done;
  string_of_int !hits

let () =
  Printexc.record_backtrace true;
  (match dive 300 "" with
  | answer -> print_endline answer
  | exception Found (length, start) ->
      Printf.printf "found %d %s\n" length start;
      print_string (Printexc.get_backtrace ()));
  (match rewrap 50 with
  | () -> print_endline "returned"
  | exception e ->
      let depth, inner = unwrap 0 e in
      Printf.printf "unwrapped %d: %s\n" depth (Printexc.to_string inner));
  List.iter (fun (name, f) -> show name f) from_the_runtime;
  from_callbacks ();
  show "protected" protected;
  show "search" search
