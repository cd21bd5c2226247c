(** Hash tables of the standard library: buckets, bindings, empty buckets, the longest; what [Hashtbl.stats] says. The
    table is not kept alive. Large ones are walked through in slices, so that the program does not stand still. *)

val observe : ?labels:Bactrian_observer.labels -> ?period:int -> string -> ('a, 'b) Hashtbl.t -> ('a, 'b) Hashtbl.t
(** The result is the table itself: [let table = observe "name" (Hashtbl.create 17)]. *)

val observe_any : ?labels:Bactrian_observer.labels -> ?period:int -> string -> 'table -> 'table
(** The same for tables that are made by [Hashtbl.Make]. What is not a table is shown as a failure. *)

val watch : ?labels:Bactrian_observer.labels -> ?period:int -> string -> ('a, 'b) Hashtbl.t -> Bactrian_observer.t
(** As [observe], for those who want to stop it. *)
