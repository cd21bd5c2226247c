(* Each line that it reads is a round of work, which leaves something behind: for `heap leaks`. *)

type item = { round : int; text : string }

let kept : item list ref = ref []

let work round =
  let garbage = List.init 2_000 (fun n -> { round; text = string_of_int n }) in
  kept := List.filteri (fun place _ -> place mod 4 = 0) garbage @ !kept;
  Gc.minor ()

let () =
  let rec rounds round =
    match input_line stdin with
    | _ ->
      work round;
      Printf.printf "%d\n%!" (List.length !kept);
      rounds (round + 1)
    | exception End_of_file -> ()
  in
  rounds 1
