(* A value that is true for a moment only, twenty times, each time shown before it is gone. Written for Ocamlviz: it is compiled with
   the original and with our library. Begins when somebody watches, and says "done"; until its input ends. *)

let () =
  Ocamlviz.init ();
  let open Ocamlviz in
  let moment = Value.observe_int_ref "moment" (ref 0) in
  print_endline "ready";
  wait_for_connected_clients 1;
  for n = 1 to 20 do
    moment := n;
    send_now ();
    moment := 0
  done;
  print_endline "done";
  let rec wait () =
    ignore (Sys.opaque_identity (Array.make 100 0));
    match Unix.select [ Unix.stdin ] [] [] 0.01 with
    | [], _, _ -> wait ()
    | _ -> if input_char stdin <> '\n' then wait ()
  in
  try wait () with End_of_file -> ()
