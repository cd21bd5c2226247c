(* From the compiler's types to the table's. *)

open Types

(* Where names are looked up, and the numbers of variables that came so far. *)
type context

val context : Modules.frame -> context
val type_ : context -> type_expr -> int

(* Whether values of this type are never blocks, as its name says. *)
val is_immediate : type_expr -> bool

(* Whether values of this type are functions, also if it is called otherwise. *)
val is_function : context -> type_expr -> bool

(* The number of a type of the language, as [predefined "string" []]. *)
val predefined : string -> int list -> int
val extension : Modules.extension -> int

(* How the block of a module type looks: set by who knows. *)
val layout_of_package : (Modules.frame -> string -> Path.t -> (string list * type_expr) list -> int) ref

(* Completes what was referred to. *)
val finish : unit -> unit
