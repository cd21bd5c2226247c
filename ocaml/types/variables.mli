(* Source variables: by their stamps, which bytecode debug information contains as well, and by their scopes, which
   are all that is available for native code. *)

type t

(* The variables of a unit, given by its number in the table. Functions may capture those that are not fields of a
   module. *)
val of_unit : int -> Captures.t -> t

(* Where a variable is in scope: in all that follows, in a part of the source, or in the function whose parameter it
   is. *)
type scope = Everywhere | Within of Location.t | Parameter_of of Location.t

(* Declares a variable that holds a value. *)
val value : t -> Modules.frame -> scope -> Ident.t * Types.type_expr -> unit

(* Declares what a structure item binds, except for values. *)
val item : t -> Modules.frame -> scope -> Typedtree.structure_item -> unit

(* Declares what is bound inside an expression. *)
val local : t -> Modules.frame -> scope -> Compat.local -> unit
