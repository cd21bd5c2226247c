(* Prints its environment as C sees it. Its C code is that of an executable, not of a library, so it has a copy of
   libc's variable `environ`, and nobody uses the original any more. *)

external variables : unit -> string array = "variables"

let () =
  let sum = List.fold_left ( + ) 0 (List.init 10_000 succ) in
  let names = List.sort compare (Array.to_list (variables ())) in
  Printf.printf "%d\n%s\n" sum (String.concat "\n" names)
