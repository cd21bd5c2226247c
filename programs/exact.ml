(* Allocates an amount that is the same in every run, for accounts of words.
   Usage: exact [PIECES [BEFORE [counters]]]. First come BEFORE single words, so that samples of a fixed
   seed fall elsewhere in what follows; then PIECES of mixed work. With "counters" the runtime's own
   count of words, from the program's start, is the last thing printed; without, the output does not
   depend on who watches, whereas counters also count what Memprof itself allocates. *)

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

let words () =
  let minor, promoted, major = Gc.counters () in
  minor +. major -. promoted

let () =
  for n = 1 to argument 2 0 do
    ignore (Sys.opaque_identity (ref n))
  done;
  let sum = ref 0 in
  for n = 1 to argument 1 5_000 do
    sum := !sum + piece n
  done;
  if Array.length Sys.argv > 3 then begin
    let words = words () in
    Printf.printf "%d %d %.0f\n" !sum (List.length !kept) words
  end
  else Printf.printf "%d %d\n" !sum (List.length !kept)
