(* Allocates an amount that is the same in every run, for accounts of words.
   Usage: exact [PIECES [BEFORE [counters]]]. First come BEFORE blocks of two words, so that the samples
   of a fixed seed fall elsewhere in what follows; then PIECES of mixed work, in [counted]. With
   "counters" it prints the runtime's count of words for [counted], and for all from the program's start
   to the very end. Without, the output does not depend on who watches, whereas counters also count what
   Memprof itself allocates. *)

let argument n default = if Array.length Sys.argv > n then int_of_string Sys.argv.(n) else default
let kept = ref []

let small n = List.length (List.rev_map (fun m -> m + n) [ n; n + 1; n + 2 ])
let text n = String.length (String.concat "-" [ string_of_int n; String.make (n mod 30) 'x' ])
let floats n = Array.length (Array.map (fun f -> f +. 1.) (Array.make (n mod 20) 0.5))

(* Past 256 words: allocated in the major heap at once. *)
let large n = Array.length (Sys.opaque_identity (Array.make (300 + (n mod 100)) n))

let piece n =
  if n mod 64 = 0 then kept := Bytes.create (n mod 512) :: !kept;
  small n + text n + floats n + if n mod 16 = 0 then large n else 0

let[@inline never] counted pieces =
  let sum = ref 0 in
  for n = 1 to pieces do
    sum := !sum + piece n
  done;
  !sum

let words () =
  let minor, promoted, major = Gc.counters () in
  int_of_float (minor +. major -. promoted)

let () =
  for n = 1 to argument 2 0 do
    ignore (Sys.opaque_identity (ref n))
  done;
  let before = words () in
  let sum = counted (argument 1 5_000) in
  let after = words () in
  Printf.printf "%d %d\n" sum (List.length !kept);
  if Array.length Sys.argv > 3 then begin
    Printf.printf "counted: %d\n" (after - before);
    print_string "all: ";
    (* Allocates next to nothing after it has counted. *)
    print_int (words ())
  end
