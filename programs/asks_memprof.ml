(* Asks the runtime whether a sampler runs (OCaml 5.5) until its standard input ends, then has one of its own: says how often it was
   told something wrong. *)

external is_sampling : unit -> bool = "caml_memprof_is_sampling"

let wrong = ref 0
let expect what = if is_sampling () <> what then incr wrong

let is_over () =
  match Unix.select [ Unix.stdin ] [] [] 0. with [], _, _ -> false | _ -> true

let rec work () =
  for _ = 1 to 100 do
    ignore (Sys.opaque_identity (List.init 1000 string_of_int));
    expect false
  done;
  if not (is_over ()) then work ()

let () =
  print_endline "ready";
  work ();
  let own = Gc.Memprof.start ~sampling_rate:1e-3 Gc.Memprof.null_tracker in
  expect true;
  Gc.Memprof.stop ();
  expect false;
  ignore own;
  Printf.printf "done, %d wrong\n" !wrong
