(* A program that uses Gc.Memprof itself. It must get what it asks for, whoever else samples: it starts,
   sees its samples, stops, starts again. Prints only what does not depend on chance. *)

let samples = ref 0
let freed = ref 0

let tracker =
  {
    Gc.Memprof.null_tracker with
    alloc_minor =
      (fun allocation ->
        samples := !samples + allocation.Gc.Memprof.n_samples;
        Some ());
    alloc_major =
      (fun allocation ->
        samples := !samples + allocation.Gc.Memprof.n_samples;
        Some ());
    dealloc_minor = (fun () -> incr freed);
    dealloc_major = (fun () -> incr freed);
  }

(* OCaml 4 gives back unit here, OCaml 5 a profile. *)
let start rate = ignore (Gc.Memprof.start ~sampling_rate:rate ~callstack_size:10 tracker)
let work () = List.fold_left ( + ) 0 (List.concat_map (fun n -> [ n; n ]) (List.init 20_000 Fun.id))

let profiled rate =
  samples := 0;
  freed := 0;
  start rate;
  let twice = try start rate; "started" with Failure _ -> "refused" in
  let sum = work () in
  Gc.full_major ();
  Gc.Memprof.stop ();
  Printf.printf "%d: samples %b, freed %b, started twice: %s\n%!" sum (!samples > 0) (!freed > 0) twice

let () =
  Printf.printf "before: %d\n%!" (work ());
  profiled 0.01;
  profiled 1.;
  (match Gc.Memprof.stop () with
  | () -> print_endline "stopped once more"
  | exception Failure _ -> print_endline "nothing to stop");
  Printf.printf "after: %d\n" (work ())
