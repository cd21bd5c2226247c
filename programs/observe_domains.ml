(* Counts in several domains at once: no count may be lost. OCaml 5 only. Until its input ends. *)

open Bactrian

let rounds = 300_000

let () =
  let point = Point.create "point" and counter = Counter.create "counter" and histogram = Histogram.create "histogram" in
  let tag = Tag.create ~size:true "tag" and late = ref None in
  let evaluated = ref 0 in
  ignore (Value.int "evaluated" (fun () -> incr evaluated; !evaluated));
  for _ = 1 to rounds do Point.observe point done;
  let kept = Array.make 4 [] in
  let work number () =
    for n = 1 to rounds do
      Point.observe point;
      Counter.add counter 2;
      if n mod 100 = 0 then begin
        kept.(number) <- Tag.mark tag (n :: kept.(number));
        Time.time "time" (fun () -> Histogram.record histogram n) ();
        Log.log "domain %d at %d" number n
      end
    done;
    if number = 0 then late := Some (Point.create "late");
    Option.iter Point.observe !late
  in
  (* Twice, so that domains follow upon others. *)
  for _ = 1 to 2 do Array.init 4 (fun number -> Domain.spawn (work number)) |> Array.iter Domain.join done;
  Printf.printf "%d\n" (8 * Array.fold_left (fun all list -> all + Obj.reachable_words (Obj.repr list)) 0 kept);
  print_endline "ready";
  flush stdout;
  let rec wait () =
    ignore (Sys.opaque_identity (Array.make 100 0));
    match Unix.select [ Unix.stdin ] [] [] 0.002 with [], _, _ -> wait () | _ -> ()
  in
  wait ();
  ignore (Sys.opaque_identity kept)
