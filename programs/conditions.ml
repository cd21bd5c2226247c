(* Works under a condition that it sets up itself, or that its starter has, and says what it sees: for the table of conditions.
   Usage: conditions WORK SELF [wait]
   WORK: allocates, threads, family, samples, lasts, worker. SELF: what it does to itself before it works, a path to make its root, or "nothing".
   With "wait" it allocates on until SIGUSR1 comes. It ends with status 3. *)

external confine : bool -> unit = "conditions_confine"
external adopt_orphans : unit -> unit = "conditions_adopt_orphans"

let kept = ref []

(* Standard output may be closed. *)
let say format = Printf.ksprintf (fun line -> try print_endline line with Sys_error _ -> ()) format

let[@inline never] work n =
  let made = List.init n (fun i -> string_of_int (i * n)) in
  kept := List.filteri (fun i _ -> i mod 10 = 0) made :: !kept;
  List.fold_left (fun sum text -> sum + String.length text) 0 made

let rec wait_for child =
  match Unix.waitpid [] child with
  | _, Unix.WEXITED code -> Printf.sprintf "exit %d" code
  | _, Unix.WSIGNALED signal -> Printf.sprintf "signal %d" signal
  | _, Unix.WSTOPPED signal -> Printf.sprintf "stop %d" signal
  | exception Unix.Unix_error (EINTR, _, _) -> wait_for child
  | exception Unix.Unix_error (error, _, _) -> Unix.error_message error

let self = Sys.executable_name

(* What cannot be started is said to be so: it may be a limit of the condition. *)
let forked name body =
  flush stdout;
  match Unix.fork () with
  | 0 ->
      body ();
      exit 0
  | child -> say "%s: %s" name (wait_for child)
  | exception Unix.Unix_error (error, _, _) -> say "%s: %s" name (Unix.error_message error)

let family () =
  forked "child" (fun () ->
      say "in the child: %d" (work 2_000);
      Gc.full_major ();
      exit 7);
  forked "killed" (fun () ->
      ignore (work 1_000);
      Unix.kill (Unix.getpid ()) Sys.sigkill);
  forked "executed" (fun () -> Unix.execv self [| self; "as"; "executed" |]);
  (match Unix.create_process self [| self; "as"; "created" |] Unix.stdin Unix.stdout Unix.stderr with
  | child -> say "created: %s" (wait_for child)
  | exception Unix.Unix_error (error, _, _) -> say "created: %s" (Unix.error_message error));
  (* No child but its own. *)
  match Unix.waitpid [ Unix.WNOHANG ] (-1) with
  | 0, _ -> say "somebody is still there"
  | child, _ -> say "there was %d" child
  | exception Unix.Unix_error (ECHILD, _, _) -> say "nobody"

let threads () =
  let results = Array.make 3 0 in
  let body n = for _ = 1 to 20 do results.(n) <- results.(n) + work 500; Thread.yield () done in
  match List.init 3 (Thread.create body) with
  | threads ->
      List.iter Thread.join threads;
      say "threads: %d" (Array.fold_left ( + ) 0 results)
  | exception Sys_error _ -> say "no threads"

(* A sampler of its own. Whether it is called is not said: somebody else's cannot always be stopped. *)
let samples () =
  let tracker = { Gc.Memprof.null_tracker with alloc_minor = (fun _ -> None) } in
  for _ = 1 to 2 do
    ignore (Gc.Memprof.start ~sampling_rate:0.1 tracker);
    say "samples: %d" (work 1_000);
    Gc.Memprof.stop ()
  done

(* A child that confines itself before it works. *)
let worker () =
  forked "worker" (fun () ->
      confine false;
      say "in the worker: %d" (work 20_000);
      exit 7)

(* Longer than it is recorded. *)
let lasts () =
  let until = Unix.gettimeofday () +. 0.5 in
  while Unix.gettimeofday () < until do ignore (work 50) done;
  say "lasted"

let do_to_itself = function
  | "nothing" -> ()
  | "confines" -> confine false
  | "confines-unheard" -> confine true
  | "drops" ->
      Unix.setgroups [| 12345 |];
      Unix.setgid 12345;
      Unix.setuid 12345
  | "ignores-children" -> Sys.set_signal Sys.sigchld Sys.Signal_ignore
  | "adopts" -> adopt_orphans ()
  | other when String.length other > 0 && other.[0] = '/' -> Unix.chroot other
  | other -> failwith other

let told = ref false

let () =
  match Array.to_list Sys.argv with
  | [ _; "as"; name ] ->
      say "%s: %d" name (work 1_500);
      exit (String.length name)
  | _ :: what :: itself :: rest ->
      Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> told := true));
      say "before: %d" (work 1_000);
      do_to_itself itself;
      (try prerr_endline "to standard error" with Sys_error _ -> ());
      say "ready";
      let rec until_told () =
        if not !told then begin
          ignore (work 100);
          (try Unix.sleepf 0.001 with Unix.Unix_error (EINTR, _, _) -> ());
          kept := [];
          until_told ()
        end
      in
      if rest = [ "wait" ] then until_told ();
      for n = 1 to 5 do
        say "work: %d" (work (n * 1_000));
        Gc.full_major ()
      done;
      (match what with
      | "allocates" -> ()
      | "threads" -> threads ()
      | "family" -> family ()
      | "samples" -> samples ()
      | "lasts" -> lasts ()
      | "worker" -> worker ()
      | other -> failwith other);
      say "after: %d" (work 1_000);
      exit 3
  | _ -> exit 64
