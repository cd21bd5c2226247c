(* A small server that leaks. Each request parses some text, counts its words and answers; all that is
   garbage soon. But answers are also kept in a cache whose key holds the number of the request, so no
   answer is ever found again and none is ever dropped: the leak to find is in [Cache.remember].
   Usage: leaky_cache [REQUESTS] *)

module Words = Map.Make (String)

module Cache = struct
  type entry = { answer : string; words : string list }

  let entries : (string, entry) Hashtbl.t = Hashtbl.create 64

  let remember request words answer =
    let key = Printf.sprintf "request-%d" request in
    Hashtbl.replace entries key { answer; words }
end

let syllables = [| "ca"; "mel"; "du"; "ne"; "oa"; "sis"; "sa"; "nd"; "ro"; "be" |]

let rec word random n =
  if n = 0 then "" else syllables.(Random.State.int random 10) ^ word random (n - 1)

let read_request random =
  List.init (20 + Random.State.int random 20) (fun _ -> word random (1 + Random.State.int random 3))

let count words =
  let add counts word =
    Words.update word (fun n -> Some (1 + Option.value n ~default:0)) counts
  in
  List.fold_left add Words.empty words

let render counts =
  let line (word, n) = Printf.sprintf "%s=%d" word n in
  String.concat "," (List.map line (Words.bindings counts))

let serve random request =
  let words = read_request random in
  let answer = render (count words) in
  if request mod 4 = 0 then Cache.remember request words answer;
  String.length answer

let () =
  let requests = if Array.length Sys.argv > 1 then int_of_string Sys.argv.(1) else 2000 in
  let random = Random.State.make [| 7 |] in
  let sent = ref 0 in
  for request = 1 to requests do
    sent := !sent + serve random request
  done;
  Printf.printf "%d requests, %d bytes sent, %d answers cached\n" requests !sent
    (Hashtbl.length Cache.entries)
