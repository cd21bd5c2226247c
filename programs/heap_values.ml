(* Values of many types, held by globals: to be printed, counted as collections, and looked at field by field. *)

type color = Red | Green | Blue

type shape = Circle of { radius : float; name : string } | Square of int * string | Point

type person = {
  name : string;
  mutable age : int;
  friends : person list;
  color : color;
  letter : char;
  ok : bool;
}

exception Odd of string * int

module By_name = Map.Make (String)
module Numbers = Set.Make (Int)

let table : (string, person) Hashtbl.t = Hashtbl.create 64
let unused : (int, int) Hashtbl.t = Hashtbl.create 8
let by_name = ref By_name.empty
let numbers = ref Numbers.empty
let queue : int list Queue.t = Queue.create ()
let stack : string Stack.t = Stack.create ()
let buffer = Buffer.create 1000
let delayed = List.init 10 (fun i -> lazy (i + Sys.opaque_identity 1))
let cases = List.init 6 (fun i -> if i mod 2 = 0 then `Number i else `Name (string_of_int i))
let odd = ref [ Odd ("one", 1); Not_found ]
let rec ring = { name = "ring"; age = 1; friends = [ ring ]; color = Blue; letter = 'r'; ok = true }
let pairs = List.init 50 (fun i -> List.init i (fun j -> (j, string_of_int j)))
let adders = List.init 2 (fun i x -> x + i)

let shapes =
  Array.init 99 (fun i ->
      match i mod 3 with
      | 0 -> Point
      | 1 -> Square (i, String.make 3 'x')
      | _ -> Circle { radius = float i; name = "c" ^ string_of_int i })

let () =
  for i = 1 to 1000 do
    let name = "p" ^ string_of_int i in
    let letter = Char.chr (65 + (i mod 26)) in
    let p = { name; age = i; friends = []; color = Green; letter; ok = i mod 2 = 0 } in
    Hashtbl.replace table name p;
    by_name := By_name.add name (Some p) !by_name;
    numbers := Numbers.add i !numbers;
    Queue.add (List.init (i mod 4) Fun.id) queue;
    Stack.push name stack;
    Buffer.add_string buffer name
  done;
  ignore (Lazy.force (List.hd delayed))
