(* Runs a command as a child and ends as it does: an OCaml program between whoever watches it and
   whatever it runs.
   Usage: run COMMAND ARGUMENTS.. *)

let () =
  match List.tl (Array.to_list Sys.argv) with
  | [] -> exit 2
  | command :: arguments ->
      let line = Filename.quote_command command arguments in
      print_endline ("running, after " ^ string_of_int (List.length (List.init 5_000 string_of_int)));
      exit (Sys.command line)
