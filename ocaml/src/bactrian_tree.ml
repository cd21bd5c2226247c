module Observer = Bactrian_observer

type graph = { node : string; mutable children : graph list }

(* In memory, nodes of both types are a string and a list of nodes. *)
external say_tree : Observer.t -> Bactrian_protocol.variant -> unit = "bactrian_say_tree"
external say_graph : Observer.t -> graph -> unit = "bactrian_say_tree"

let observe ?labels ?period name f =
  Observer.asked Observer.Tree ?labels ?period name (fun id ~deadline:_ -> say_tree id (f ()); Observer.Said)

let observe_graph ?labels ?period name f =
  Observer.asked Observer.Tree ?labels ?period name (fun id ~deadline:_ -> say_graph id (f ()); Observer.Said)
