(* A family of processes: forked, executed, started by the shell, ended by exit and by signals. Each
   allocates, so that each that is followed has something to say. Ends by executing itself in its own
   place, so that one process id has two programs.
   With the arguments "crowd N" it forks N times while threads allocate, with "daemon" its child outlives it. *)

let churn n = List.fold_left ( + ) 0 (List.concat_map (fun m -> [ m; m + 1 ]) (List.init n Fun.id))

let show name = function
  | Unix.WEXITED code -> Printf.printf "%s: exit %d\n%!" name code
  | Unix.WSIGNALED s when s = Sys.sigterm -> Printf.printf "%s: killed by TERM\n%!" name
  | Unix.WSIGNALED s when s = Sys.sigkill -> Printf.printf "%s: killed by KILL\n%!" name
  | Unix.WSIGNALED s -> Printf.printf "%s: killed by %d\n%!" name s
  | Unix.WSTOPPED s -> Printf.printf "%s: stopped by %d\n%!" name s

let rec wait child = try snd (Unix.waitpid [] child) with Unix.Unix_error (EINTR, _, _) -> wait child

let forked name body =
  flush stdout;
  match Unix.fork () with
  | 0 ->
      body ();
      exit 0
  | child -> show name (wait child)

let self = Sys.executable_name

let family () =
  Printf.printf "parent: %d\n" (churn 3_000);
  forked "child" (fun () ->
      Printf.printf "in the child: %d\n" (churn 2_000);
      exit 7);
  forked "grandchild" (fun () ->
      forked "inner" (fun () -> exit (churn 100 land 63));
      exit 8);
  forked "without exit handlers" (fun () ->
      ignore (churn 1_000);
      Unix._exit 9);
  forked "ended by itself" (fun () ->
      ignore (churn 1_000);
      Unix.kill (Unix.getpid ()) Sys.sigterm;
      Unix.sleep 10);
  forked "shot" (fun () ->
      ignore (churn 1_000);
      Unix.kill (Unix.getpid ()) Sys.sigkill;
      Unix.sleep 10);
  forked "executed" (fun () -> Unix.execv self [| self; "as"; "executed" |]);
  forked "executed with no environment" (fun () ->
      Unix.execve self [| self; "as"; "bare" |] [||]);
  forked "not there" (fun () ->
      try Unix.execv "/no/such/program" [| "nothing" |]
      with Unix.Unix_error (error, _, _) ->
        print_endline (Unix.error_message error);
        exit 127);
  Printf.printf "shell: %d\n%!" (Sys.command "echo in the shell; exit 5");
  let command name = Filename.quote_command self [ "as"; name ] in
  Printf.printf "shell starts us: %d\n%!" (Sys.command (command "started"));
  let child = Unix.create_process self [| self; "as"; "created" |] Unix.stdin Unix.stdout Unix.stderr in
  show "created" (wait child);
  let pipe = Unix.open_process_in (command "piped") in
  let said = input_line pipe in
  show said (Unix.close_process_in pipe);
  (* Several at once. *)
  flush stdout;
  let children =
    List.init 4 (fun n ->
        match Unix.fork () with
        | 0 -> exit (n + (churn (500 * n) * 0))
        | child -> child)
  in
  List.iter (fun child -> show "one of four" (wait child)) children;
  Unix.execv self [| self; "as"; "last" |]

(* A fork copies one thread only, whatever the others were doing, and whatever they held. *)
let crowd count =
  let stop = ref false in
  let spin () = while not !stop do ignore (churn 50) done in
  let threads = List.init 3 (fun _ -> Thread.create spin ()) in
  for n = 1 to count do
    match Unix.fork () with
    | 0 -> Unix._exit (n + (churn 300 * 0))
    | child -> show "one of the crowd" (wait child)
  done;
  stop := true;
  List.iter Thread.join threads

(* Nobody waits for it. It says what it did in daemon.txt, all at once. *)
let daemon () =
  match Unix.fork () with
  | 0 ->
      ignore (Unix.setsid ());
      List.iter Unix.close [ Unix.stdin; Unix.stdout; Unix.stderr ];
      let sum = ref 0 in
      for _ = 1 to 45 do
        sum := !sum + churn 2_000;
        Unix.sleepf 0.05
      done;
      let file = open_out "daemon.tmp" in
      Printf.fprintf file "%d\n" !sum;
      close_out file;
      Sys.rename "daemon.tmp" "daemon.txt"
  | _ ->
      (* By then it has begun to work, and its work begun to show. *)
      Unix.sleepf 1.2;
      print_endline "started a daemon"

let () =
  match Array.to_list Sys.argv with
  | [ _; "crowd"; count ] -> crowd (int_of_string count)
  | [ _; "daemon" ] -> daemon ()
  | [ _; "as"; name ] ->
      Printf.printf "%s: %d\n" name (churn 1_500);
      exit (String.length name)
  | _ -> family ()
