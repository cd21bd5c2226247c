(* Observes what gives trouble, of the kind its first argument says, until its input ends. *)

open Bactrian

let say format = Printf.printf (format ^^ "\n%!")

(* Reads a line, and comes by safe points while there is none. *)
let wait_for_line () =
  while Unix.select [ Unix.stdin ] [] [] 0.002 = ([], [], []) do ignore (Sys.opaque_identity (ref 0)) done;
  ignore (Unix.read Unix.stdin (Bytes.create 100) 0 100)

let is_over () = match Unix.select [ Unix.stdin ] [] [] 0.0 with [], _, _ -> false | _ -> true
let allocate () = ignore (Sys.opaque_identity (List.init 100 Fun.id))

let busy seconds =
  let until = Unix.gettimeofday () +. seconds in
  while Unix.gettimeofday () < until do allocate () done

let count name =
  let evaluated = ref 0 in
  ignore (Value.int name (fun () -> incr evaluated; !evaluated))

(* Observers that take long, allocate, collect, compact, overflow the stack, use what they observe. *)
let observers () =
  count "before";
  ignore (Value.int "slow" (fun () -> busy 0.05; 1));
  ignore (Value.int "collects" (fun () -> allocate (); Gc.full_major (); Gc.compact (); 2));
  let rec deep n = if n = 0 then 0 else 1 + deep (n - 1) in
  ignore (Value.int ~period:1000 "deep" (fun () -> deep (Sys.opaque_identity 100_000)));
  let rec endless n = 1 + endless (n + 1) in
  ignore (Value.int ~period:1000 "overflows" (fun () -> endless 0));
  let create = lazy (Value.int "created" (fun () -> 7) |> Observer.kill; Log.log "created") in
  ignore (Value.string "creates" (fun () -> Lazy.force create; "yes"));
  ignore (Value.int "yields" (fun () -> Clients.yield (); Clients.show (); 3));
  count "after";
  say "ready";
  while not (is_over ()) do allocate () done

exception Timeout

(* The program uses signals itself: their exceptions are its own, and no system call of it is interrupted by us. *)
let signals () =
  let timeouts = ref 0 and is_ready = ref false in
  let handle _ = if !is_ready then begin is_ready := false; raise Timeout end in
  Sys.set_signal Sys.sigalrm (Signal_handle handle);
  ignore (Value.int "slow" (fun () -> busy 0.02; 1));
  ignore (Value.int "timeouts" (fun () -> !timeouts));
  let interval = 0.005 in
  ignore (Unix.setitimer ITIMER_REAL { it_interval = interval; it_value = interval });
  say "ready";
  let rec work () = if is_over () then () else begin allocate (); work () end in
  let is_done = ref false in
  while not !is_done do
    try is_ready := true; work (); is_done := true with Timeout -> incr timeouts
  done;
  is_ready := false;
  ignore (Unix.setitimer ITIMER_REAL { it_interval = 0.0; it_value = 0.0 });
  say "timeouts %d" !timeouts

(* Signals come all the time, and their handler shows values and raises, while values are shown and markers are set, which wait. *)
let shown () =
  let timeouts = ref 0 and is_ready = ref false and n = ref 0 in
  let handle _ = if !is_ready then begin is_ready := false; Clients.show (); raise Timeout end in
  Sys.set_signal Sys.sigalrm (Signal_handle handle);
  ignore (Value.int "timeouts" (fun () -> !timeouts));
  say "ready";
  Clients.wait_for_connected 1;
  ignore (Unix.setitimer ITIMER_REAL { it_interval = 0.001; it_value = 0.001 });
  while !timeouts < 300 do
    try
      is_ready := true;
      while true do
        incr n;
        if !n mod 2 = 0 then Clients.show () else Clients.marker "here"
      done
    with Timeout -> incr timeouts
  done;
  ignore (Unix.setitimer ITIMER_REAL { it_interval = 0.0; it_value = 0.0 });
  Clients.show ();
  say "timeouts %d" !timeouts;
  while not (is_over ()) do allocate () done

(* Without signals of its own, a system call is never interrupted. *)
let waits () =
  count "evaluated";
  let interrupted = ref 0 in
  say "ready";
  while not (is_over ()) do
    match Unix.select [] [] [] 0.003 with _ -> allocate () | exception Unix.Unix_error (EINTR, _, _) -> incr interrupted
  done;
  say "interrupted %d" !interrupted

(* The program takes the signals that we might use. *)
let takes_all () =
  count "evaluated";
  let own = ref 0 in
  say "ready";
  wait_for_line ();
  for signal = 34 to 64 do
    match Sys.signal signal (Signal_handle (fun _ -> incr own)) with
    | Signal_default -> ()
    | _ -> say "signal %d was taken" signal
  done;
  for signal = 34 to 60 do Sys.set_signal signal Signal_default done;
  say "took them";
  while not (is_over ()) do Clients.yield (); allocate () done;
  say "own %d" !own

(* Children observe nothing and go on. *)
let forks () =
  let point = Point.create "point" and tag = Tag.create ~size:true "tag" in
  count "evaluated";
  let use () =
    for _ = 1 to 1000 do Point.observe point done;
    ignore (Tag.mark tag (Bytes.create 10));
    Log.log "used";
    ignore (Value.int "made later" (fun () -> 1));
    Time.time "time" allocate ();
    Counter.incr (Counter.create "counter");
    Histogram.record (Histogram.create "histogram") 1;
    Gauge.set (Gauge.create "gauge") 1.0;
    Span.during (Span.create "span") allocate;
    Clients.marker "marker";
    Clients.wait_for_connected 0;
    Gc.full_major ()
  in
  say "ready";
  wait_for_line ();
  let wait pid = match Unix.waitpid [] pid with _, WEXITED status -> status | _ -> -1 in
  for _ = 1 to 5 do
    match Unix.fork () with
    | 0 ->
        busy 0.01;
        use ();
        (* Its own children, too. *)
        let inner = match Unix.fork () with 0 -> use (); exit 7 | pid -> wait pid in
        exit inner
    | pid -> if wait pid <> 7 then say "a child failed"
  done;
  (match Unix.fork () with
  | 0 -> Unix.execv "/bin/sh" [| "sh"; "-c"; "ls -l /proc/self/fd | grep -c socket; exit 0" |]
  | pid -> if wait pid <> 0 then say "exec failed");
  say "forked";
  while not (is_over ()) do allocate () done

(* What is observed all the time is collected nevertheless when nobody else needs it. *)
let weak () =
  let n = Sys.opaque_identity 1 in
  let tag = Tag.create ~size:true ~period:10 "tag" in
  let f () = n + 1 and reference = ref 5 and table = Hashtbl.create 10 in
  Hashtbl.replace table 1 1;
  ignore (Value.int ~weak:true ~period:10 "function" f);
  ignore (Value.int_ref ~period:10 "ref" reference);
  let kept = ref [ Obj.repr f; Obj.repr reference; Obj.repr (Hashtable.observe ~period:10 "table" table) ] in
  kept := Obj.repr (List.init 100 (fun n -> Tag.mark tag (List.init 10 (fun m -> n + m)))) :: !kept;
  (* Enough to keep the collector at work. *)
  let others = Array.make 1000 [] in
  let work () = others.(Random.int 1000) <- List.init 100 Fun.id in
  say "ready";
  let is_told = ref false in
  while not !is_told do work (); is_told := is_over () done;
  wait_for_line ();
  ignore (Sys.opaque_identity !kept);
  kept := [];
  say "dropped";
  while not (is_over ()) do work () done

let () =
  match Sys.argv.(1) with
  | "weak" -> weak ()
  | "observers" -> observers ()
  | "signals" -> signals ()
  | "shown" -> shown ()
  | "waits" -> waits ()
  | "takes all" -> takes_all ()
  | "forks" -> forks ()
  | what -> failwith what
