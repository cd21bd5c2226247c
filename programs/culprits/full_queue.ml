(* Every request leaves an event in a queue, and nobody takes one out. *)

type event = { request : int; words : string array }

module Events = struct
  let waiting : event Queue.t = Queue.create ()
  let publish event = Queue.add event waiting
end

let serve request =
  let words = Array.init 12 (Printf.sprintf "%d: word %d" request) in
  Events.publish { request; words };
  Array.length words

let () =
  let requests = int_of_string Sys.argv.(1) in
  let words = List.fold_left (fun all request -> all + serve request) 0 (List.init requests Fun.id) in
  Printf.printf "%d words, %d events\n" words (Queue.length Events.waiting)
