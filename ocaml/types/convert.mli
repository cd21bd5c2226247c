(* Converts the compiler's types to those of the table. *)

open Types

(* Where names are looked up, and the numbers of the variables so far. *)
type context

val context : Modules.frame -> context
val type_ : context -> type_expr -> int

(* Whether the name of a type shows that its values are never blocks. *)
val is_immediate : type_expr -> bool

(* Whether values of a type are functions, even if the type is an abbreviation. *)
val is_function : context -> type_expr -> bool

(* The number of a predefined type, such as [predefined "string" []]. *)
val predefined : string -> int list -> int
val extension : Modules.extension -> int

(* The layout of a module type's block. Set by [Layouts]. *)
val layout_of_package : (Modules.frame -> string -> Path.t -> (string list * type_expr) list -> int) ref

(* Completes all declarations that were referred to. *)
val finish : unit -> unit
