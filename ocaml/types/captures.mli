(* The variables that functions capture, in the order in which the compiler stores them in environments, which is that
   of their stamps. With flambda the order is different, and nothing is recorded. *)

type t

(* The captures of a unit, given by its number in the table. *)
val of_unit : int -> t

(* Declares a variable that functions can capture because it is not a field of a module, with its type if that is
   useful. *)
val local : t -> Ident.t -> int option -> unit

(* Declare variables that keep their stamps during compilation: parameters of a function, and variables bound by [let]
   and by a case. Other variables may get a later stamp, such as those that stand for a whole matched value. Nothing
   is recorded for functions that capture those. *)
val parameters : t -> Typedtree.expression_desc -> unit
val binding : t -> Typedtree.value_binding -> unit
val case : t -> 'k Typedtree.case -> unit

(* Declares functions that are defined together, each of which can refer to all: they share one environment. Call this
   before the functions are visited. *)
val together : t -> Typedtree.value_binding list -> unit

(* Visits an expression. If it is a function, its captures are added to the table. Its parameters and inner variables
   must not be declared yet. *)
val expression : t -> Typedtree.expression -> unit
