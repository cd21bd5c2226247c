(* Stops a sampler that it never started, then starts one and stops it: each call must end as it does when nobody
   else samples, an exception included. *)

let tracker = Gc.Memprof.null_tracker

let tell name call =
  match call () with
  | () -> Printf.printf "%s: done\n%!" name
  | exception Failure what -> Printf.printf "%s: %s\n%!" name what

let work () =
  let sum = ref 0 in
  for n = 1 to 100_000 do
    sum := !sum + List.length (Sys.opaque_identity [ n; n ])
  done;
  Printf.printf "work: %d\n%!" !sum

(* OCaml 4 gives back unit here, OCaml 5 a profile. *)
let start () = ignore (Gc.Memprof.start ~sampling_rate:0.1 tracker)

let () =
  work ();
  tell "stop" Gc.Memprof.stop;
  work ();
  tell "start" start;
  work ();
  tell "stop" Gc.Memprof.stop;
  tell "stop" Gc.Memprof.stop;
  work ()
