(* Works until its standard input ends, and checks what it does: for observers that come while it runs.
   Usage: running busy|idle|threads|signals|forks|samples. It says "ready" first. *)

let rec count_up n = if n = 0 then [] else n :: count_up (n - 1)
let wrong = ref 0

(* At any moment something that was made a moment ago is alive. *)
let kept = ref []

let round () =
  let list = count_up 100 in
  kept := list;
  let text = String.concat "," (List.map string_of_int list) in
  let back = List.map int_of_string (String.split_on_char ',' text) in
  if List.fold_left ( + ) 0 back <> 5050 then incr wrong

let is_over () =
  match Unix.select [ Unix.stdin ] [] [] 0. with
  | [], _, _ -> false
  | _ -> true
  | exception Unix.Unix_error (EINTR, _, _) -> false

let rec pause seconds = try Unix.sleepf seconds with Unix.Unix_error (EINTR, _, _) -> pause 0.001

let work ~every () =
  let rounds = ref 0 in
  while not (is_over ()) do
    for _ = 1 to 20 do round () done;
    incr rounds;
    every !rounds
  done

let busy = work ~every:ignore
let idle = work ~every:(fun _ -> pause 0.005)

let threads () =
  let others = List.map (fun work -> Thread.create work ()) [ busy; idle; idle ] in
  busy ();
  List.iter Thread.join others

let signals () =
  let came = ref 0 in
  Sys.set_signal Sys.sigalrm (Sys.Signal_handle (fun _ -> incr came; round ()));
  ignore (Unix.setitimer ITIMER_REAL { it_interval = 0.002; it_value = 0.002 });
  busy ();
  ignore (Unix.setitimer ITIMER_REAL { it_interval = 0.; it_value = 0. });
  if !came = 0 then incr wrong

(* As Unix._exit, which is there since 4.12: without what at_exit was told. *)
external leave : int -> 'a = "caml_sys_exit"

let forks () =
  let child _ =
    match Unix.fork () with
    | 0 ->
        for _ = 1 to 20 do round () done;
        leave !wrong
    | child -> if snd (Unix.waitpid [] child) <> WEXITED 0 then incr wrong
  in
  work ~every:child ()

(* A sampler of its own, now and then. *)
let samples () =
  let sample _ =
    let count = ref 0 in
    let alloc _ = incr count; None in
    let tracker = { Gc.Memprof.null_tracker with alloc_minor = alloc; alloc_major = alloc } in
    ignore (Gc.Memprof.start ~sampling_rate:0.1 ~callstack_size:5 tracker);
    round ();
    Gc.Memprof.stop ();
    if !count = 0 then incr wrong
  in
  work ~every:sample ()

let () =
  print_endline "ready";
  (match Sys.argv.(1) with
  | "busy" -> busy ()
  | "idle" -> idle ()
  | "threads" -> threads ()
  | "signals" -> signals ()
  | "forks" -> forks ()
  | _ -> samples ());
  Printf.printf "done, %d wrong\n" !wrong
