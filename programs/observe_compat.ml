(* Uses all of Ocamlviz's interface. It is compiled with the original and with our library, and shown by the original's clients.
   Until its input ends. *)

let () =
  Ocamlviz.init ();
  let open Ocamlviz in
  let point = Point.create "point" in
  for _ = 1 to 12 do Point.observe point done;
  let dead = Point.create "dead point" in
  Point.observe dead;
  Point.kill dead;
  assert (Point.observe_calls "calls" (fun x y -> x + y) 1 2 = 3);
  assert (Point.observe_calls2 "calls2" (fun x y -> x * y) 1 2 = 2);
  assert (Point.observe_calls_rec "calls_rec" (fun self n -> if n = 0 then 0 else self (n - 1)) 3 = 0);
  assert (Point.observe_calls_rec2 "calls_rec2" (fun self n m -> if n = 0 then m else self (n - 1) m) 3 4 = 4);
  let tag : Tag.t = Tag.create ~size:true ~count:true ~period:100 "tag" in
  let list = Tag.mark tag [ Random.int 3; Random.int 4 ] in
  let longer = Tag.mark tag (Random.int 5 :: list) in
  let measured = Tag.create ~size:true ~fct_size:(fun all -> Int64.of_int (1000 * Tag.WeakHash.count all)) "measured" in
  let kept = List.init 3 (fun n -> Tag.mark measured (ref n)) in
  Tag.set_period tag 200;
  let dead_tag = Tag.create "dead tag" in
  Tag.kill dead_tag;
  let time = Time.create "time" in
  Time.start time;
  Time.stop time;
  assert (Time.time "timed" succ 1 = 2 && Time.elapsed_time () >= 0.0);
  Time.kill (Time.create "dead time");
  Value.observe_int_fct "int_fct" (fun () -> 1 + 1);
  Value.observe_int ~weak:false ~period:100 "int" 3;
  Value.observe_float_fct ~weak:false "float_fct" (fun () -> 4.5);
  Value.observe_float "float" 5.5;
  Value.observe_bool_fct ~period:100 "bool_fct" (fun () -> true);
  Value.observe_bool "bool" false;
  Value.observe_string_fct "string_fct" (fun () -> "six");
  Value.observe_string "string" "seven";
  let int = Value.observe_int_ref "int_ref" (ref 0) in
  let float = Value.observe_float_ref "float_ref" (ref 0.0) in
  let bool = Value.observe_bool_ref ~period:100 "bool_ref" (ref false) in
  let string = Value.observe_string_ref "string_ref" (ref "") in
  int := 8;
  float := 9.5;
  bool := true;
  string := "ten";
  let shared = Protocol.Node ("shared", []) in
  Tree.observe ~period:100 "tree" (fun () -> Protocol.Node ("root", [ shared; shared ]));
  log "a %s of %d" "line" 1;
  yield ();
  send_now ();
  (* The original's tables silence it on this version of OCaml. *)
  let table = if Array.length Sys.argv > 1 then Hashtable.observe "table" (Hashtbl.create 8) else Hashtbl.create 8 in
  for n = 1 to 20 do Hashtbl.replace table n n done;
  wait_for_connected_clients 0;
  ignore (to_send : unit -> string);
  ignore (declare_tags : unit -> string);
  ignore (set_nb_clients : int -> unit);
  ignore (wait_for_killed_clients : unit -> unit);
  print_endline "ready";
  let rec wait () =
    ignore (Sys.opaque_identity (Array.make 100 0));
    match Unix.select [ Unix.stdin ] [] [] 0.002 with
    | [], _, _ | (exception Unix.Unix_error (EINTR, _, _)) -> wait ()
    | _ -> ()
  in
  wait ();
  ignore (Sys.opaque_identity (list, longer, kept, int, float, bool, string, table))
