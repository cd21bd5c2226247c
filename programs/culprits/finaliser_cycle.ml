(* A connection is closed by a finaliser whose function holds the connection: it can never run. *)

type connection = { number : int; buffer : Bytes.t; mutable close : unit -> unit }

let closed = ref 0

let connect number =
  let connection = { number; buffer = Bytes.create 8_000; close = ignore } in
  connection.close <- (fun () -> incr closed);
  (* It should use its argument. *)
  Gc.finalise (fun _ -> connection.close ()) connection;
  connection

let serve number = (connect number).number

let () =
  let connections = int_of_string Sys.argv.(1) in
  let served = List.fold_left (fun all n -> all + min 1 (serve n)) 0 (List.init connections Fun.id) in
  Gc.full_major ();
  Printf.printf "%d served, %d closed\n" served !closed
