(* The contents of modules' blocks. *)

(* A module of this type, seen through its signature. *)
val of_module : Modules.frame -> string -> Types.module_type -> Modules.t -> Table.item

val module_ : Modules.frame -> Ident.t -> Types.module_type -> unit -> Table.item
val extension : Modules.frame -> Ident.t -> unit -> Table.item

(* What a structure item binds, and what [open struct .. end] binds. *)
val bound : Modules.frame -> Typedtree.structure_item -> (Ident.t * (unit -> Table.item)) list
val opened : Modules.frame -> Typedtree.open_declaration -> (Ident.t * (unit -> Table.item)) list

(* The block of a compilation unit in native code without flambda: what the interface shows, followed by what it
   hides. *)
val of_unit : Modules.frame -> Modules.t -> string -> Typedtree.structure -> interface:Types.signature -> int
