(* Compilation units: their files, and who refers to whom. *)

(* Where else units are looked for. *)
val folders : string list ref

(* Programs and plugins that were linked from the units, as far as they are known: units that were changed later are of none of them. *)
val linked : string list ref

(* .cmt files among these, and in these folders. *)
val search : string list -> string list

(* Puts what is in these .cmt files into the table; what goes wrong becomes a failure there. *)
val add : string list -> unit
