(* Variables of the source by the numbers that the compiler gives them, which debug information of bytecode repeats. *)

type t

(* Those of a unit, by its number in the table. *)
val of_unit : int -> t

(* A variable that holds a value. *)
val value : t -> Modules.frame -> Ident.t * Types.type_expr -> unit

(* What a structure's item binds, but for values. *)
val item : t -> Modules.frame -> Typedtree.structure_item -> unit

(* What is bound inside an expression. *)
val local : t -> Modules.frame -> Compat.local -> unit
