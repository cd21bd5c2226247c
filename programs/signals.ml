(* Signals: handlers that allocate, raise and count, timers against a loop that allocates, blocked and
   pending signals, interrupted system calls. With the argument "die" it ends by a signal of its own. *)

let say fmt = Printf.printf (fmt ^^ "\n%!")
let handle signal f = Sys.set_signal signal (Sys.Signal_handle f)
let myself () = Unix.getpid ()
let rec allocate n = if n > 0 then allocate (n - List.length (Sys.opaque_identity [ n ]))

let sent_to_itself () =
  let seen = ref [] in
  handle Sys.sigusr1 (fun _ -> seen := String.make 10 'u' :: !seen);
  handle Sys.sigusr2 (fun _ -> seen := String.concat "" [ "v"; "w" ] :: !seen);
  for _ = 1 to 50 do
    Unix.kill (myself ()) Sys.sigusr1;
    allocate 100;
    Unix.kill (myself ()) Sys.sigusr2;
    allocate 100
  done;
  say "handled: %d, %d letters" (List.length !seen) (String.length (String.concat "" !seen))

let timer () =
  let ticks = ref 0 in
  handle Sys.sigalrm (fun _ -> incr ticks);
  let every = 0.001 in
  ignore (Unix.setitimer ITIMER_REAL { it_interval = every; it_value = every });
  while !ticks < 20 do
    allocate 1_000
  done;
  ignore (Unix.setitimer ITIMER_REAL { it_interval = 0.; it_value = 0. });
  say "timer: ticked"

exception Enough

let raised_by_a_handler () =
  handle Sys.sigalrm (fun _ -> raise Enough);
  (try
     ignore (Unix.setitimer ITIMER_REAL { it_interval = 0.; it_value = 0.005 });
     while true do
       allocate 1_000
     done
   with Enough -> say "loop: left by an exception");
  handle Sys.sigalrm ignore

(* Again and again: the first may come before there is anything to interrupt, on a busy machine. *)
let with_timer f =
  let set every = ignore (Unix.setitimer ITIMER_REAL { it_interval = every; it_value = every }) in
  set 0.01;
  Fun.protect f ~finally:(fun () -> set 0.)

let interrupted () =
  let from, into = Unix.pipe () in
  (match with_timer (fun () -> Unix.read from (Bytes.create 1) 0 1) with
  | n -> say "read: %d" n
  | exception Unix.Unix_error (EINTR, name, _) -> say "%s: interrupted" name);
  (match with_timer (fun () -> Unix.select [ from ] [] [] 5.) with
  | _ -> say "select: ready"
  | exception Unix.Unix_error (EINTR, name, _) -> say "%s: interrupted" name);
  Unix.close from;
  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
  (match Unix.write_substring into "x" 0 1 with
  | n -> say "write: %d" n
  | exception Unix.Unix_error (EPIPE, name, _) -> say "%s: nobody reads" name);
  Unix.close into

let blocked () =
  let seen = ref 0 in
  handle Sys.sigusr1 (fun _ -> incr seen);
  let old = Unix.sigprocmask SIG_BLOCK [ Sys.sigusr1 ] in
  Unix.kill (myself ()) Sys.sigusr1;
  allocate 10_000;
  let pending = Unix.sigpending () = [ Sys.sigusr1 ] in
  say "blocked: %d seen, pending %b" !seen pending;
  ignore (Unix.sigprocmask SIG_SETMASK old);
  allocate 1_000;
  say "let through: %d seen" !seen;
  ignore (Unix.sigprocmask SIG_BLOCK [ Sys.sigusr1 ]);
  Unix.kill (myself ()) Sys.sigusr1;
  Unix.sigsuspend [];
  say "waited for: %d seen" !seen;
  ignore (Unix.sigprocmask SIG_SETMASK old)

let () =
  match Sys.argv with
  | [| _; "die" |] ->
      allocate 10_000;
      say "about to die";
      Unix.kill (myself ()) Sys.sigterm;
      Unix.sleep 10
  | _ ->
      sent_to_itself ();
      timer ();
      raised_by_a_handler ();
      interrupted ();
      blocked ()
