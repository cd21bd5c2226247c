(* Compilation units: their files, and who refers to whom. *)

(* Where else units are looked for. *)
val folders : string list ref

(* What was linked from the units, if that is known: those that were changed later are none of its. *)
val program : string option ref

(* .cmt files among these, and in these folders. *)
val search : string list -> string list

(* Puts what is in these .cmt files into the table; what goes wrong becomes a failure there. *)
val add : string list -> unit
