(* What is in the blocks of modules. *)

(* A module of this type, seen through its signature. *)
val of_module : Modules.frame -> string -> Types.module_type -> Modules.t -> Table.item

(* A compilation unit's block, as native code without flambda has it: what the interface shows, then what it hides. *)
val of_unit : Modules.frame -> Modules.t -> string -> Typedtree.structure -> interface:Types.signature -> int
