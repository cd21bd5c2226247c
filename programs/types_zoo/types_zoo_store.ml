(* A module behind an interface: types_zoo.ml uses it, and tells what is built here by types that it cannot see. *)

type t = { mutable entries : (string * int) list; limit : int }
type 'a box = Box of { content : 'a; label : string } | Empty
type key = int

exception Full of int

let hidden = [ 1.5; Sys.opaque_identity 2.5 ]
let shared = { entries = List.init 3 (fun n -> (string_of_int n, n)); limit = Sys.opaque_identity 10 }
let boxed = Box { content = String.make 3 'x'; label = Sys.opaque_identity "label" }

module Inner = struct
  type secret = Key of int * string | Nothing

  let first = Key (Sys.opaque_identity 1, "first")
  let unseen = [| Sys.opaque_identity Nothing |]
  let last = Key (Sys.opaque_identity 2, "last")
end

let find store name = List.assoc_opt name store.entries
let count store = List.length store.entries
let most : key ref = ref (List.length hidden)
