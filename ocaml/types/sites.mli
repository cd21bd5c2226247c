(* Where something may be allocated. *)

(* Adds a unit's places to the table. *)
val add : unit:int -> Modules.frame -> Typedtree.structure -> unit
