(* Domains that work until standard input ends, for observers that come while it runs: one of which waits most of the time,
   and one that is spawned again and again; or (heirs) one at a time, which spawns the next and ends. *)

let rec count_up n = if n = 0 then [] else n :: count_up (n - 1)
let wrong = Atomic.make 0
let is_over = Atomic.make false

let round () =
  let list = List.map string_of_int (count_up 100) in
  if List.fold_left (fun sum text -> sum + int_of_string text) 0 list <> 5050 then Atomic.incr wrong

let work pause () =
  while not (Atomic.get is_over) do
    for _ = 1 to 20 do round () done;
    pause ()
  done

(* What a domain has set, the one that it spawns inherits, and goes on with when the first has ended. *)
let rec heirs () =
  for _ = 1 to 50 do round () done;
  if not (Atomic.get is_over) then ignore (Domain.spawn heirs : unit Domain.t)

let () =
  print_endline "ready";
  let short () = Domain.join (Domain.spawn (fun () -> for _ = 1 to 50 do round () done)) in
  let kinds = [ ignore; (fun () -> Unix.sleepf 0.005); short ] in
  let all = List.map (fun pause -> work pause) kinds in
  let others = List.map Domain.spawn (if Array.mem "heirs" Sys.argv then [ heirs ] else all) in
  ignore (try input_line stdin with End_of_file -> "");
  Atomic.set is_over true;
  List.iter Domain.join others;
  Printf.printf "done, %d wrong\n" (Atomic.get wrong)
