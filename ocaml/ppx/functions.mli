(** Functions in the syntax tree of any version of ppxlib. *)

open Ppxlib

(** The part of a function after its outermost parameters, and how to rebuild the function with another body. *)
type rest =
  | Body of expression * (expression -> expression)
  | Cases of case list * (expression -> expression)
      (** Cases of one more argument. The rebuilt function binds that argument to the pattern [observed]. *)

val outermost : observed:pattern -> expression -> (arg_label list * rest) option
(** The labels of the outermost parameters of a function, and the rest of it. The list is empty for [fun (type a) -> ..],
    which is a function only if its body is one. *)
