(* Ends in the way that its argument names; standard output shows which exit handlers ran. *)

let churn () = List.fold_left ( + ) 0 (List.init 10_000 (fun n -> List.length [ n; n ]))
let say what = Printf.printf "%s: %d\n" what (churn ())
let die signal = Unix.kill (Unix.getpid ()) signal

let () =
  at_exit (fun () -> say "first registered, last run");
  at_exit (fun () -> say "last registered, first run");
  say "main";
  match Sys.argv.(1) with
  | "end" -> ()
  | "exit" -> exit 3
  | "high" -> exit 255
  | "uncaught" -> failwith "not caught by anybody"
  | "out-of-memory" -> raise Out_of_memory
  | "raise-at-exit" -> at_exit (fun () -> raise Not_found)
  | "exit-at-exit" -> at_exit (fun () -> exit 6)
  | "at-once" ->
      flush stdout;
      Unix._exit 4
  | "kill" ->
      flush stdout;
      die Sys.sigkill
  | "abort" ->
      flush stdout;
      die Sys.sigabrt
  | "crash" ->
      flush stdout;
      die Sys.sigsegv;
      (* OCaml 4 has a handler of its own, which goes back to the program once. *)
      die Sys.sigsegv
  | "handler" ->
      Sys.set_signal Sys.sigterm (Sys.Signal_handle (fun _ -> exit 9));
      die Sys.sigterm;
      while true do
        ignore (churn ())
      done
  | "thread" ->
      Thread.join (Thread.create (fun () -> exit 12) ());
      say "not reached"
  | "stdout-closed" -> Unix.close Unix.stdout
  | unknown -> invalid_arg unknown
