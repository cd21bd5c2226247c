external take_snapshot : string -> unit = "bactrian_snapshot"

let snapshot ?(name = "") () = take_snapshot name
