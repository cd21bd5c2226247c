(* Compilation units: their files, and who refers to whom. *)

(* Where else units are looked for. *)
val folders : string list ref

(* Reads a .cmt file into the table; what goes wrong becomes a failure there. *)
val add : string -> unit

(* Files among these, and in these folders. *)
val search : string list -> string list

(* Adds all that was announced by [add]. *)
val finish : unit -> unit
