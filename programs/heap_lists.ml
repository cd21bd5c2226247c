(* Lists: of integers, of strings, of lists, with shared tails, and one without an end. *)

let numbers = List.init 50_000 Fun.id
let words = List.init 1_000 (fun n -> String.concat "-" [ "word"; string_of_int n ])
let nested = List.init 100 (fun n -> List.init n (fun m -> (n, m)))
let tail = List.init 500 (fun n -> Some n)
let shared = List.init 300 (fun n -> Some (-n) :: tail)

let endless =
  let rec ring = ref 0 :: other and other = ref 1 :: ring in
  ring

let () = Heap_fixture.keep (numbers, words, nested, shared, endless)
let () = Heap_fixture.ready ()
