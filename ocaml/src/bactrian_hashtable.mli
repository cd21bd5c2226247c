(** Statistics of hash tables of the standard library: the numbers of buckets, bindings and empty buckets, and the longest
    bucket, as in [Hashtbl.stats].

    Observing a table does not keep it alive. Large tables are walked in slices, so that the program is never paused for
    long. [period] is in milliseconds. *)

val observe : ?labels:Bactrian_observer.labels -> ?period:int -> string -> ('a, 'b) Hashtbl.t -> ('a, 'b) Hashtbl.t
(** Observes a table and returns it: [let table = observe "name" (Hashtbl.create 17)]. *)

val observe_any : ?labels:Bactrian_observer.labels -> ?period:int -> string -> 'table -> 'table
(** Like {!observe}, for tables made by [Hashtbl.Make]. Anything that is not a hash table is shown as a failure. *)

val watch : ?labels:Bactrian_observer.labels -> ?period:int -> string -> ('a, 'b) Hashtbl.t -> Bactrian_observer.t
(** Like {!observe}, but returns the observer, with which observation can be stopped. *)
