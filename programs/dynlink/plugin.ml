(* Native code that host.ml loads while it runs: code addresses that the executable does not have. *)
let table = List.init 100 (fun n -> (n, string_of_int n))

let rec words n = if n = 0 then [] else List.assoc (n mod 100) table :: words (n - 1)

let () =
  Hashtbl.replace Hooks.known "words" words;
  Hashtbl.replace Hooks.known "fail" (fun n -> failwith (Printf.sprintf "the plugin fails at %d" n))
