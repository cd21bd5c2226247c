(* Stacks on which a walk of the interpreter's stack could go wrong: deep ones, with exception handlers in between, of
   functions that get more arguments than they take, with callbacks from C in them, on several threads. It allocates at
   every step, and shows some stacks itself. Nothing here depends on when the collector runs. *)

let keep x = ignore (Sys.opaque_identity x)

let show () =
  keep [ 1 ];
  print_string (Printexc.raw_backtrace_to_string (Printexc.get_callstack 30));
  print_newline ()

(* Each level has its locals, its handlers, or both. *)
let rec climb n act =
  if n = 0 then (act (); 0)
  else
    match n mod 4 with
    | 0 -> 1 + climb (n - 1) act
    | 1 -> (
        let block = ref n in
        try
          let m = climb (n - 1) act in
          keep block;
          m + !block
        with Not_found -> keep (n, n); raise Not_found)
    | 2 -> (
        try try climb (n - 1) act + List.length [ n; n ] with Exit -> keep [ n ]; n
        with Failure _ -> keep (Some n); n)
    | _ ->
        let total = ref 0 in
        for i = 0 to 1 do
          total := !total + i;
          if i = 1 then total := !total + climb (n - 1) act;
          keep (ref i)
        done;
        !total

(* The same places hold the same return addresses, once with a frame in between and once with arguments there: five words
   either way. Nothing but `allocate` allocates, so one stack is compared with the other. *)
let allocate x = keep [ x ]
let rest _ _ c d = c + d

let excess x =
  allocate x;
  rest

let with_excess x = excess x 1 2 3 4

let with_frame x =
  keep (excess x);
  5

let calls = [| with_excess; with_frame |]

let call n =
  for i = 1 to n do
    keep (calls.(i mod 2) i)
  done

let signalled () =
  Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> keep (climb 20 (fun () -> keep [ 3 ]))));
  for _ = 1 to 5 do
    Unix.kill (Unix.getpid ()) Sys.sigusr1;
    keep [ 4 ]
  done

let[@inline never] finalised () =
  let block = ref (String.make 10 'x') in
  Gc.finalise (fun block -> keep (climb 15 (fun () -> keep [ !block ]))) block;
  fun () -> keep block

let finalise () =
  for _ = 1 to 3 do
    (finalised ()) ();
    Gc.full_major ()
  done

(* Two threads in turn, each deep in its own stack. *)
let in_turn () =
  let lock = Mutex.create () and changed = Condition.create () in
  let turn = ref 0 in
  let play me () =
    for _ = 1 to 20 do
      Mutex.lock lock;
      while !turn <> me do
        Condition.wait changed lock
      done;
      keep (ref me);
      turn := 1 - me;
      Condition.signal changed;
      Mutex.unlock lock
    done
  in
  let other = Thread.create (fun () -> keep (climb 30 (play 1))) () in
  keep (climb 50 (play 0));
  Thread.join other

let raising n =
  for i = 0 to n do
    let raise_one () = keep [ i ]; raise (if i mod 3 = 0 then Exit else if i mod 3 = 1 then Not_found else Failure "f") in
    match climb (10 + (i mod 50)) raise_one with m -> keep (Some m) | exception Not_found -> keep [ i ]
  done

let () =
  show ();
  keep (climb 11 show);
  keep (climb 1_500 (fun () -> keep [ 0 ]));
  keep (climb 300 (fun () -> for i = 1 to 200 do keep (climb (i mod 20) (fun () -> keep [ i ])) done));
  call 200;
  raising 300;
  signalled ();
  keep (climb 12 signalled);
  keep (climb 14 finalise);
  in_turn ();
  keep (climb 700 (fun () -> raising 60));
  (* The stack is moved when it grows. *)
  keep (climb 4_000 (fun () -> call 50));
  at_exit (fun () -> keep (climb 9 show))
