(* Trees: the standard library's maps and sets, and one with parents, which makes cycles. *)

module Names = Map.Make (String)
module Numbers = Set.Make (Int)

let names =
  let add map n = Names.add (string_of_int n) [| n; n + 1 |] map in
  List.fold_left add Names.empty (List.init 5_000 Fun.id)

let numbers = Numbers.of_list (List.init 10_000 (fun n -> n * n))

(* Versions of one map share most of their nodes. *)
let versions = List.init 200 (fun n -> Names.add "new" [| n |] names)

type node = { name : string; mutable parent : node option; mutable children : node list }

let rec grow depth name =
  let node = { name; parent = None; children = [] } in
  if depth > 0 then
    node.children <-
      List.init 3 (fun n ->
          let child = grow (depth - 1) (Printf.sprintf "%s.%d" name n) in
          child.parent <- Some node;
          child);
  node

let family = grow 7 "root"
let () = Heap_fixture.keep (names, numbers, versions, family)
let () = Heap_fixture.ready ()
