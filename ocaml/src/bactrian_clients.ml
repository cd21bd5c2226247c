external connected_clients : unit -> int = "bactrian_clients"
external wait : int -> int -> bool = "bactrian_wait"
external marker_of : string -> unit = "bactrian_marker"
external yield : unit -> unit = "bactrian_yield"
external show_now : unit -> unit = "bactrian_show"
external ticks : unit -> int = "bactrian_ticks"

let prepare = Bactrian_observer.prepare
let connected () = prepare (); connected_clients ()

(* While waiting, pending actions run this often, in milliseconds. *)
let turn = 100

let rec wait_until clients = if not (wait clients turn) then begin yield (); wait_until clients end
let wait_for_connected clients = prepare (); wait_until clients
let wait_for_killed () = prepare (); wait_until (-1)

let evaluate () =
  prepare ();
  if connected_clients () > 0 then Bactrian_observer.answer_all ()

let show () = evaluate (); show_now ()
let marker text = evaluate (); marker_of text; show_now ()
