(** Trees and graphs with labelled nodes. Nodes that are the same value in memory are shown as one node, which makes sharing
    and cycles visible.

    The function is called when a client wants to see the tree. A tree with more than 65,000 nodes is shown as a failure.
    [period] is in milliseconds. *)

type graph = { node : string; mutable children : graph list }

val observe :
  ?labels:Bactrian_observer.labels -> ?period:int -> string -> (unit -> Bactrian_protocol.variant) -> Bactrian_observer.t
(** Observes a tree in the type that Ocamlviz uses. *)

val observe_graph : ?labels:Bactrian_observer.labels -> ?period:int -> string -> (unit -> graph) -> Bactrian_observer.t
(** Observes a graph, which may contain cycles. *)
