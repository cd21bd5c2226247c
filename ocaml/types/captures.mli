(* Which variables functions capture, in the order in which the compiler keeps them in environments: that of their stamps. With flambda it is
   another, and nothing is said. *)

type t

(* Those of a unit, by its number in the table. *)
val of_unit : int -> t

(* A variable that functions can capture, because no module holds it; with its type, if that is of use. *)
val local : t -> Ident.t -> int option -> unit

(* Variables that the compiler keeps under the number that they have, of a function's parameters, of [let], and of a case. Others may get a later
   one on the way, such as those that stand for a whole value that is matched: of functions that capture those, nothing is said. *)
val parameters : t -> Typedtree.expression_desc -> unit
val binding : t -> Typedtree.value_binding -> unit
val case : t -> 'k Typedtree.case -> unit

(* Functions that are bound together, each of which can name all: they have one environment. To be told before they are met. *)
val together : t -> Typedtree.value_binding list -> unit

(* An expression. If it is a function, what it captures is added to the table; its parameters, and what is bound in it, must not be known yet. *)
val expression : t -> Typedtree.expression -> unit
