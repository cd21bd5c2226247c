(* Resolves names of modules and types.

   The compiler checks a program against signatures, which hide information: abstract types, results of functors. Here
   modules are evaluated instead, as if types were values. A structure consists of its types and modules, whatever its
   signature. Applying a functor evaluates its body once more, with the parameter bound to the argument. Then each
   name leads to the declaration that gives the representation of values. A signature is believed only where there is
   nothing to evaluate: without a .cmt, for a functor's parameter, and for a module unpacked from a value.

   Identifiers are unique within a unit, but a functor's body is evaluated several times. So there is a frame per unit
   and per application, linked to the frame around it. *)

open Types

type frame
type origin =
  | Predefined (* built into the language *)
  | Declared (* by a type definition *)
  | Parameter (* abstract, in a functor's parameter or a module unpacked from a value: any type *)
  | Hidden (* abstract, in a signature whose implementation could not be read *)

type type_ = {
  name : string;
  arity : int;
  of_ : [ `Declaration of type_declaration | `Object of string ];
  origin : origin;
  scope : frame; (* where names in the declaration are looked up *)
  generic : type_ Lazy.t option; (* the same type in the functor's body *)
  mutable number : int; (* in the table; -1 until it is needed there *)
}

type extension = { constructor : string; declared : extension_constructor; within : frame; mutable extension : int }

type t =
  | Structure of structure
  | Functor of functor_
  | Unknown of string (* the reason *)

and structure
and functor_

val name : t -> string

(* A frame with only the predefined names. *)
val nowhere : frame

(* The body of a functor applied to an unknown argument, in which its code is examined. *)
val generic : frame -> Typedtree.module_expr -> frame * t

(* Finds a unit by the name of its module, as seen from the unit with this number. *)
val find_unit : (from:int -> string -> t) ref

(* A unit with this number and name. *)
val of_structure : int -> string -> Typedtree.structure -> t * frame
val of_signature : int -> string -> signature -> t

(* A frame with the names of a signature, bound to the types that the module really has. *)
val view : frame -> t -> signature -> frame

val bind_module : frame -> Ident.t option -> Typedtree.module_expr -> unit
val bind_opened : frame -> Typedtree.open_declaration -> unit
val bind_exception : frame -> Typedtree.extension_constructor -> unit

(* [None] if the name does not refer to a declared type but to one that is local to an expression. *)
val find_type : frame -> Path.t -> (type_, string) result option
val find_extension : frame -> Path.t -> extension option
val extension_of_ident : frame -> Ident.t -> extension option
val module_of_ident : frame -> Ident.t -> t
(* Resolves a module type's name. Also returns the frame in which the result's names are looked up. *)
val scrape : frame -> module_type -> frame * module_type
(* A module of which only the type is known. *)
val of_value : frame -> string -> module_type -> t
(* Defines one of its abstract types. *)
val equate : t -> string -> frame -> type_expr -> unit
(* The name of a module type, as seen from outside. *)
val module_type_name : frame -> Path.t -> string
