(* Allocation sites. *)

(* Adds the allocation sites of a unit to the table. *)
val add : unit:int -> Modules.frame -> Typedtree.structure -> unit
