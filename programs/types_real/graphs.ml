(* Random graphs and what some algorithms make of them, kept in globals: about a million blocks. *)
open Graph

module Town = struct
  type t = { id : int; name : string; mutable seen : bool }

  let compare a b = compare a.id b.id
  let hash t = t.id
  let equal a b = a.id = b.id
end

module Road = struct
  type t = { length : float; lanes : int }

  let compare = compare
  let default = { length = 0.; lanes = 0 }
end

module Persistent = Persistent.Digraph.ConcreteLabeled (Town) (Road)
module Imperative = Imperative.Digraph.Concrete (Town)

module Weight = struct
  type edge = Persistent.E.t
  type t = float

  let weight e = (Persistent.E.label e).Road.length
  let compare = compare
  let add = ( +. )
  let zero = 0.
end

module Shortest = Path.Dijkstra (Persistent) (Weight)
module Components = Components.Make (Imperative)
module Top = Topological.Make (Imperative)
module Oper = Oper.P (Persistent)

let size = int_of_string Sys.argv.(1)
let towns = Array.init size (fun id -> { Town.id; name = Printf.sprintf "town %d" id; seen = false })
let any () = towns.(Random.int size)

let roads =
  let rec add graph n =
    if n = 0 then graph
    else
      let road = { Road.length = Random.float 100.; lanes = 1 + Random.int 4 } in
      add (Persistent.add_edge_e graph (Persistent.E.create (any ()) road (any ()))) (n - 1)
  in
  add Persistent.empty (size * 5)

let links =
  let graph = Imperative.create ~size () in
  for _ = 1 to size * 3 do Imperative.add_edge graph (any ()) (any ()) done;
  graph

let components = Components.scc_list links
let paths =
  let path n = try Some (Shortest.shortest_path roads towns.(n) (any ())) with Not_found -> None in
  List.init 20 path
let order = Top.fold (fun town all -> town :: all) links []
let mirrored = Oper.mirror roads
let () =
  Printf.printf "%d components, %d towns\n" (List.length components) (List.length order);
  ignore (Sys.opaque_identity (paths, mirrored))
