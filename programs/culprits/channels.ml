(* Each client of a server gets a channel with a stream of messages, which a finaliser is to close; but its function holds the channel, and the
   channel the stream: it can never run (as in Cumulus). With Lwt as it is. *)

type xml = Text of string | Element of string * (string * string) list * xml list

type channel = {
  id : int;
  messages : xml Lwt_stream.t;
  push : xml option -> unit;
  closing : unit Lwt.u;
  shown : xml list Lwt.t;
}

let rec page depth n =
  if depth = 0 then Text (Printf.sprintf "message %d" n)
  else Element ("div", [ ("class", Printf.sprintf "level%d" depth) ], List.init 4 (fun m -> page (depth - 1) (n + m)))

let connect id =
  let messages, push = Lwt_stream.create () in
  let closed, closing = Lwt.wait () in
  let shown = Lwt.bind closed (fun () -> Lwt.return (Lwt_stream.get_available messages)) in
  let channel = { id; messages; push; closing; shown } in
  (* It should use its argument. *)
  Gc.finalise (fun _ -> channel.push None; Lwt.wakeup channel.closing ()) messages;
  channel.push (Some (page 3 id));
  channel.id

let () =
  let clients = int_of_string Sys.argv.(1) in
  let last = List.fold_left (fun last n -> max last (connect n)) 0 (List.init clients Fun.id) in
  Gc.full_major ();
  Printf.printf "%d clients\n" (last + 1)
