(* A program with threads that allocates for 0.7 seconds, says how many words that were, and then waits. With
   the argument "joined" it is another thread that does so, and the main one waits for it. *)

let kept = ref []

let work () =
  let start = Unix.gettimeofday () and blocks = ref 0 in
  while Unix.gettimeofday () -. start < 0.7 do
    kept := [];
    for _ = 1 to 1_000 do
      kept := Bytes.create 100 :: !kept
    done;
    blocks := !blocks + 1_000
  done;
  (* A list's block and the bytes. *)
  Printf.printf "%d\n%!" (!blocks * (3 + 14));
  Unix.sleep 1_000

let () =
  if Array.length Sys.argv > 1 then Thread.join (Thread.create work ())
  else begin
    Thread.join (Thread.create ignore ());
    work ()
  end
