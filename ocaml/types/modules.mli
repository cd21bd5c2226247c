(* What names of modules and types stand for.

   The compiler checks a program against signatures, which hide: an abstract type, a functor's result. Here modules
   are instead evaluated, as if types were values: a structure is the types and modules in it whatever signature it
   was given; a functor that is applied is its body once more, with the parameter standing for the argument. Then
   each name leads to the declaration that says how values look. Only where there is nothing to evaluate (no .cmt,
   a functor's parameter, a module from a value) a signature is believed.

   Identifiers are unique in a unit, but a functor's body is evaluated several times. So there is a frame per unit
   and per application, each knowing the one around it. *)

open Types

type frame
type origin =
  | Predefined (* by the language *)
  | Declared (* by a type definition *)
  | Parameter (* abstract, in a functor's parameter or a module from a value: any type *)
  | Hidden (* abstract, in a signature without an implementation that could be read *)

type type_ = {
  name : string;
  arity : int;
  of_ : [ `Declaration of type_declaration | `Object of string ];
  origin : origin;
  scope : frame; (* where the declaration's own names are looked up *)
  generic : type_ Lazy.t option; (* the same in the functor's body *)
  mutable number : int; (* in the table; -1 before it is needed there *)
}

type extension = { constructor : string; declared : extension_constructor; within : frame; mutable extension : int }

type t =
  | Structure of structure
  | Functor of functor_
  | Unknown of string (* why *)

and structure
and functor_

val name : t -> string

(* Where only types of the language have names. *)
val nowhere : frame

(* The body of a functor that is applied to nothing known: where the code in it is looked at. *)
val generic : frame -> Typedtree.module_expr -> frame * t

(* How units are found by the names of their modules, from a unit with this number. *)
val find_unit : (from:int -> string -> t) ref

(* A unit with this number and name. *)
val of_structure : int -> string -> Typedtree.structure -> t * frame
val of_signature : int -> string -> signature -> t

(* Names as seen through a signature, where types are those that the module really has. *)
val view : frame -> t -> signature -> frame

val bind_module : frame -> Ident.t option -> Typedtree.module_expr -> unit
val bind_opened : frame -> Typedtree.open_declaration -> unit
val bind_exception : frame -> Typedtree.extension_constructor -> unit

(* [None] if the name is not that of a declared type: one that is local to an expression. *)
val find_type : frame -> Path.t -> (type_, string) result option
val find_extension : frame -> Path.t -> extension option
val extension_of_ident : frame -> Ident.t -> extension option
val module_of_ident : frame -> Ident.t -> t
(* A module type without names in front of it, and where its names are looked up. *)
val scrape : frame -> module_type -> frame * module_type
(* A module of which nothing but its type is known. *)
val of_value : frame -> string -> module_type -> t
(* Says which type one of its abstract types is. *)
val equate : t -> string -> frame -> type_expr -> unit
(* The name of a module type as others see it. *)
val module_type_name : frame -> Path.t -> string
