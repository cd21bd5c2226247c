(* Starts Gc.Memprof with a rate and a tracker that are still in the minor heap, while samples of somebody else's
   sampler wait to be told: C allocates, and between that and the start no OCaml code does. Whoever stops the other
   sampler first has these samples told, which allocates, and the collector moves rate and tracker. *)

external cells : int -> int list = "cells"

let tracker count =
  let note (allocation : Gc.Memprof.allocation) =
    count := !count + allocation.n_samples;
    Some ()
  in
  { Gc.Memprof.null_tracker with alloc_minor = note; alloc_major = note }

let () =
  let count = ref 0 in
  let tracker = Sys.opaque_identity (tracker count) in
  let rate = Sys.opaque_identity (1. /. Sys.opaque_identity 2.) in
  let list = cells 40_000 in
  ignore (Gc.Memprof.start ~sampling_rate:rate ~callstack_size:10 tracker);
  let more = List.rev_map succ list in
  Gc.Memprof.stop ();
  (* Of 120,000 words every other one is a sample. *)
  let is_right = abs (!count - 60_000) < 2_000 in
  Printf.printf "%d %d, samples right: %b\n" (List.length list) (List.fold_left ( + ) 0 more) is_right
