(** Functions in the syntax tree, whichever version of ppxlib it is of. *)

open Ppxlib

(** What follows the outermost parameters of a function, and how the function is made again of another body. *)
type rest =
  | Body of expression * (expression -> expression)
  | Cases of case list * (expression -> expression)
      (** Cases of one more argument. What is made again has that argument in the pattern [observed]. *)

val outermost : observed:pattern -> expression -> (arg_label list * rest) option
(** The labels of the outermost parameters of a function, and what follows them. There are none of [fun (type a) -> ..],
    which is a function only if what follows is one. *)
