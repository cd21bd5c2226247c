(* Values turned into bytes and back: large ones that are read straight into the major heap, shared and
   cyclic ones, closures, and a file (values.bin, which it writes). *)

type tree = Leaf | Node of { left : tree; label : string; weights : float array; right : tree }
type ring = { name : string; mutable next : ring }

let rec tree depth =
  if depth = 0 then Leaf
  else
    let label = string_of_int depth and weights = Array.make (depth mod 4) 0.5 in
    Node { left = tree (depth - 1); label; weights; right = tree (depth - 1) }

let rec size = function
  | Leaf -> 1
  | Node { left; label; weights; right } ->
      size left + String.length label + Array.length weights + size right

let round_trip ?(flags = []) value = Marshal.from_string (Marshal.to_string value flags) 0

let () =
  let large = tree 13 in
  let copy : tree = round_trip large in
  Printf.printf "tree: %d, the same: %b\n" (size copy) (copy = large);
  for n = 1 to 200 do
    let small : int list * string = round_trip (List.init (n mod 20) Fun.id, String.make n 's') in
    if String.length (snd small) <> n then print_endline "a small value changed"
  done;
  let shared = Array.make 1_000 (String.make 100 'z') in
  let copy : string array = round_trip shared in
  Printf.printf "sharing kept: %b\n" (copy.(0) == copy.(999));
  let copy : string array = round_trip ~flags:[ Marshal.No_sharing ] shared in
  Printf.printf "sharing lost: %b\n" (copy.(0) != copy.(999));
  let rec one = { name = "one"; next = two } and two = { name = "two"; next = one } in
  let ring : ring = round_trip one in
  Printf.printf "ring: %s %s, closed: %b\n" ring.name ring.next.name (ring.next.next == ring);
  let offset = Sys.opaque_identity 42 in
  let add : int -> int = round_trip ~flags:[ Marshal.Closures ] (fun n -> n + offset) in
  Printf.printf "closure: %d\n" (add 1);
  let out = open_out_bin "values.bin" in
  List.iter (fun n -> Marshal.to_channel out (tree n) []) [ 3; 8; 11 ];
  close_out out;
  let input = open_in_bin "values.bin" in
  let sizes = List.map (fun _ -> size (Marshal.from_channel input)) [ (); (); () ] in
  close_in input;
  print_endline ("file: " ^ String.concat " " (List.map string_of_int sizes));
  let table = Hashtbl.create 10 in
  List.iter (fun n -> Hashtbl.replace table n (string_of_int n)) (List.init 2_000 Fun.id);
  let copy : (int, string) Hashtbl.t = round_trip table in
  Printf.printf "table: %d, digest %s\n" (Hashtbl.length copy)
    (Digest.to_hex (Digest.string (Marshal.to_string large [])))
