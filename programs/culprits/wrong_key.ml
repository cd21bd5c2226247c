(* A cache that is never hit: its keys hold the time of the request, so no later request can match. *)

type session = { user : string; rights : string list }
type entry = { session : session; made : int }

module Cache = struct
  let table : (string * int, entry) Hashtbl.t = Hashtbl.create 64

  let find_or_make user now make =
    let key = (user, now) in
    match Hashtbl.find_opt table key with
    | Some entry -> entry
    | None ->
      let entry = make () in
      Hashtbl.add table key entry;
      entry
end

let log_in user now () =
  { session = { user; rights = List.init 10 (Printf.sprintf "%s may do %d" user) }; made = now }

let serve now =
  let user = Printf.sprintf "user-%d" (now mod 50) in
  let entry = Cache.find_or_make user now (log_in user now) in
  List.length entry.session.rights

let () =
  let requests = int_of_string Sys.argv.(1) in
  let served = List.fold_left (fun all now -> all + serve now) 0 (List.init requests Fun.id) in
  Printf.printf "%d\n" served
