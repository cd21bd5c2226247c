(* A server whose connections are closed by finalisers. Those that it opens by [open_leaky] can never be closed: their
   finaliser holds the connection that it is for, through what it logs to. This is a leak that a web framework had,
   43 of 73 finalisers of a program; the same numbers are here. *)

type connection = { number : int; buffer : Bytes.t; mutable log : log option }
and log = { prefix : string; mutable about : connection list }

let closed = ref 0

let create number = { number; buffer = Bytes.create 1000; log = None }

(* The fault: [log] holds [connection], and the closure holds [log]. *)
let open_leaky number =
  let connection = create number in
  let log = { prefix = string_of_int number; about = [ connection ] } in
  connection.log <- Some log;
  let close (_ : connection) =
    incr closed;
    print_string (log.prefix ^ " closed\n")
  in
  Gc.finalise close connection;
  connection

(* What should have been written: the prefix alone. *)
let open_sound number =
  let connection = create number in
  let log = { prefix = string_of_int number; about = [ connection ] } in
  connection.log <- Some log;
  let prefix = log.prefix in
  let close (_ : connection) =
    incr closed;
    if prefix = "" then print_string "closed\n"
  in
  Gc.finalise close connection;
  connection

(* Three leaky connections are still in use. *)
let in_use = ref []

let () =
  for number = 1 to 40 do
    ignore (Sys.opaque_identity (open_leaky number))
  done;
  for number = 41 to 43 do
    in_use := open_leaky number :: !in_use
  done;
  for number = 44 to 73 do
    in_use := open_sound number :: !in_use
  done;
  Heap_fixture.ready ()
