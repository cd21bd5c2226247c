(* Becomes another user, as servers do, and starts children whose output and complaints it reads: for tests of what children
   inherit. Usage: drops_rights USER, as root. *)

let read name channel =
  try
    while true do
      Printf.printf "%s: %s\n" name (input_line channel)
    done
  with End_of_file -> ()

let () =
  let user = int_of_string Sys.argv.(1) in
  let before = Array.length (Unix.environment ()) in
  Unix.setgroups [| user |];
  Unix.setgid user;
  Unix.setuid user;
  assert (Array.length (Unix.environment ()) <= before);
  let shell = Unix.open_process_in "id -u 2>&1" in
  read "by a shell" shell;
  ignore (Unix.close_process_in shell);
  let from, into = Unix.pipe ~cloexec:true () in
  let child = Unix.create_process "id" [| "id"; "-u" |] Unix.stdin into into in
  Unix.close into;
  read "by itself" (Unix.in_channel_of_descr from);
  ignore (Unix.waitpid [] child);
  flush stdout;
  ignore (Sys.command "id -u 1>&2");
  match Unix.fork () with
  | 0 -> Unix.execvp "id" [| "id"; "-u" |]
  | child -> ignore (Unix.waitpid [] child)
