(** Trees and graphs. Nodes that are one value in memory are shown as one, so that sharing is seen, and cycles may be
    shown. Up to 65,000 nodes. *)

type graph = { node : string; mutable children : graph list }

val observe :
  ?labels:Bactrian_observer.labels -> ?period:int -> string -> (unit -> Bactrian_protocol.variant) -> Bactrian_observer.t

val observe_graph : ?labels:Bactrian_observer.labels -> ?period:int -> string -> (unit -> graph) -> Bactrian_observer.t
