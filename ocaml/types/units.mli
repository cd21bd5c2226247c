(* Compilation units: their files and their imports. *)

(* Additional folders in which units are looked for. *)
val folders : string list ref

(* The programs and plugins that were linked from the units, if known. A unit that was changed later belongs to none
   of them. *)
val linked : string list ref

(* The .cmt files among these files and in these folders. *)
val search : string list -> string list

(* Adds the contents of these .cmt files to the table; errors become failures in the table. *)
val add : string list -> unit
