(* A program that would notice processes and files of others among its own: it counts its children by wait and by
   SIGCHLD, and its open files, while the collector runs. *)

let ended = ref 0
let () = Sys.set_signal Sys.sigchld (Sys.Signal_handle (fun _ -> incr ended))
let kept = ref []

let work () =
  kept := List.init 2_000 string_of_int :: !kept;
  Gc.full_major ()

let descriptors () = Array.length (Sys.readdir "/proc/self/fd")

let child status =
  match Unix.fork () with
  | 0 ->
      work ();
      Unix._exit status
  | process -> process

(* Interrupted by the signal it waits for, it waits on. *)
let rec wait () = try Unix.wait () with Unix.Unix_error (Unix.EINTR, _, _) -> wait ()

let nobody () =
  match Unix.waitpid [ Unix.WNOHANG ] (-1) with
  | 0, _ -> "somebody is still there"
  | process, _ -> Printf.sprintf "there was %d" process
  | exception Unix.Unix_error (Unix.ECHILD, _, _) -> "nobody"

let () =
  let before = descriptors () in
  work ();
  Printf.printf "at first: %s\n%!" (nobody ());
  for round = 1 to 5 do
    let mine = List.init 3 (fun n -> child (10 * round + n)) in
    work ();
    let statuses =
      List.map
        (fun _ ->
          match wait () with
          | process, Unix.WEXITED status when List.mem process mine -> string_of_int status
          | _ -> "another's")
        mine
    in
    Printf.printf "round %d: %s, then %s\n%!" round
      (String.concat " " (List.sort compare statuses))
      (nobody ())
  done;
  (* Signals of two children that end at once may be one. *)
  Printf.printf "signals: %s\n" (if !ended >= 5 && !ended <= 15 then "of children" else string_of_int !ended);
  Printf.printf "descriptors: %d\n" (descriptors () - before);
  let input = Unix.open_process_in "echo from a shell" in
  Printf.printf "%s\n" (input_line input);
  ignore (Unix.close_process_in input);
  Printf.printf "in the end: %s\n" (nobody ())
