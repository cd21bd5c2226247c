(* Has threads that wait, so that the program comes to no safe point of its own; until its input ends. *)

open Bactrian

let () =
  let evaluated = ref 0 in
  ignore (Value.int "evaluated" (fun () -> incr evaluated; !evaluated));
  let tag = Tag.create ~size:true "tag" in
  let list = Tag.mark tag (List.init 1000 Fun.id) in
  let point = Point.create "point" in
  let count () = for _ = 1 to 100_000 do Point.observe point; ignore (Sys.opaque_identity (ref 0)) done in
  List.iter Thread.join (List.init 4 (fun _ -> Thread.create count ()));
  let _waits = Thread.create (fun () -> Thread.delay 1000.0) () in
  print_endline "ready";
  flush stdout;
  (try ignore (input_char stdin) with End_of_file -> ());
  ignore (Sys.opaque_identity list);
  exit 0
