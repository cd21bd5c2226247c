(* What host.ml and plugin.ml share: functions by name. *)
let known : (string, int -> string list) Hashtbl.t = Hashtbl.create 4
