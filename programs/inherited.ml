(* Prints what it has from whoever started it: signals that are ignored, which standard streams are open, and
   where a link leads, which a library that is loaded before may decide. *)

let () =
  let status = open_in "/proc/self/status" in
  (try
     while true do
       let line = input_line status in
       if String.length line > 6 && String.sub line 0 6 = "SigIgn" then print_endline line
     done
   with End_of_file -> close_in status);
  let show name stream =
    match Unix.fstat stream with
    | _ -> Printf.printf "%s: open\n" name
    | exception Unix.Unix_error (error, _, _) ->
        Printf.printf "%s: %s\n" name (Unix.error_message error)
  in
  show "standard input" Unix.stdin;
  show "standard error" Unix.stderr;
  match Unix.readlink "/no/such/link" with
  | target -> Printf.printf "link: %s\n" target
  | exception Unix.Unix_error (error, _, _) -> Printf.printf "link: %s\n" (Unix.error_message error)
