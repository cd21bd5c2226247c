(* Observes something of every kind and does what can be foreseen with it, then waits until its input ends, and sets a
   marker for each byte of it. Says on its output what only it can know. *)

open Bactrian

let say format = Printf.printf (format ^^ "\n%!")

(* Everything that is alive until the end. *)
let kept = ref []
let keep value = kept := Obj.repr value :: !kept

let points () =
  let point = Point.create "point" and labelled = Point.create ~labels:[ ("method", "GET"); ("code", "200") ] "labelled" in
  for _ = 1 to 1234 do Point.observe point done;
  for _ = 1 to 7 do Point.observe labelled done;
  let one = Point.observe_calls "calls" (fun x -> x + 1) and two = Point.observe_calls2 "calls of two" (fun x y -> x + y) in
  let factorial = Point.observe_calls_rec "recursive" (fun self n -> if n = 0 then 1 else n * self (n - 1)) in
  let power = Point.observe_calls_rec2 "recursive of two" (fun self x n -> if n = 0 then 1 else x * self x (n - 1)) in
  assert (one 1 = 2 && two 1 2 = 3 && factorial 5 = 120 && power 2 4 = 16);
  let killed = Point.create "killed" in
  for _ = 1 to 3 do Point.observe killed done;
  Point.kill killed;
  Point.observe killed;
  assert (Point.count point = 1234)

let times () =
  let time = Time.create "time" in
  for _ = 1 to 3 do Time.start time; ignore (Sys.opaque_identity (List.init 1000 Fun.id)); Time.stop time done;
  let running = Time.create "running" in
  Time.start running;
  (match Time.start running with () -> assert false | exception Time.Already_started -> ());
  (match Time.stop time with () -> assert false | exception Time.Not_started -> ());
  assert (Time.time "timed" succ 1 = 2);
  (match Time.time "timed" (fun () -> raise Exit) () with () -> assert false | exception Exit -> ());
  let rec nested n = if n = 0 then 0 else Time.time "timed" (fun n -> 1 + nested (n - 1)) n in
  assert (nested 3 = 3 && Time.elapsed_time () > 0.0)

let values () =
  let int = ref 41 and float = ref 0.5 and bool = ref false and string = ref "before" in
  ignore (Value.int_ref "int ref" int);
  ignore (Value.float_ref "float ref" float);
  ignore (Value.bool_ref "bool ref" bool);
  ignore (Value.string_ref "string ref" string);
  incr int;
  float := 1.5;
  bool := true;
  string := String.concat " " [ "after"; "it" ];
  keep int; keep float; keep bool; keep string;
  ignore (Value.int "int" (fun () -> !int * 2));
  ignore (Value.float ~unit:`Percent "float" (fun () -> !float *. 2.0));
  ignore (Value.bool "bool" (fun () -> not !bool));
  ignore (Value.string "string" (fun () -> "caf\xc3\xa9 \xff"));
  ignore (Value.constant_int "constant" (-1));
  ignore (Value.constant_string "constant string" "never another");
  ignore (Value.int "fails" (fun () -> failwith "on purpose"));
  let times = ref 0 in
  ignore (Value.int "recovers" (fun () -> incr times; if !times < 3 then raise Not_found else !times));
  let itself = ref Observer.none in
  itself := Value.int "kills itself" (fun () -> Observer.kill !itself; 5)

let weak () =
  let dead = ref 1 in
  ignore (Value.int_ref "dead ref" (Sys.opaque_identity dead));
  let n = Sys.opaque_identity 3 in
  let f () = n + 1 in
  ignore (Value.int ~weak:true "dead function" f);
  let g () = n + 2 in
  keep g;
  ignore (Value.int ~weak:true "live function" g);
  ignore (Hashtable.observe "dead table" (Hashtbl.create 10))

let tables () =
  let table = Hashtable.observe "table" (Hashtbl.create 16) in
  for n = 1 to 100_000 do Hashtbl.replace table (n * 37) n done;
  keep table;
  let { Hashtbl.num_bindings; num_buckets; max_bucket_length; bucket_histogram } = Hashtbl.stats table in
  say "table %d %d %d %d" num_buckets num_bindings bucket_histogram.(0) max_bucket_length;
  let other = Hashtable.observe_any "not a table" [ 1; 2; 3 ] and number = Hashtable.observe_any "number" 17 in
  keep other; keep number;
  (* It looks like one from outside. *)
  keep (Hashtable.observe_any "almost a table" (1, [| Obj.repr (Some 1) |], 2, 3))

let trees () =
  let open Protocol in
  let leaf = Node ("leaf", []) in
  let shared = Node ("shared", [ leaf ]) in
  ignore (Tree.observe "tree" (fun () -> Node ("root", [ shared; leaf; shared ])));
  let open Tree in
  let first = { node = "first"; children = [] } in
  let second = { node = "second"; children = [ first ] } in
  first.children <- [ second; first ];
  ignore (Tree.observe_graph "graph" (fun () -> first));
  let large = ref leaf in
  for n = 1 to 70_000 do large := Node (string_of_int n, [ !large ]) done;
  ignore (Tree.observe "too large" (fun () -> !large))

(* Obj.reachable_words of all together, which are one after the other in a block that is not counted itself. *)
let size_of values = 8 * (Obj.reachable_words (Obj.repr values) - (Array.length values + 1))

type left = Leaf | Left of left * int

let tags () =
  let observe name values =
    let values = Array.map Obj.repr values in
    let tag = Tag.create ~size:true ~period:50 name in
    Array.iter (fun value -> ignore (Tag.mark tag value)) values;
    keep values;
    say "%s %d" name (size_of values)
  in
  let list = List.init 100_000 Fun.id in
  observe "list" [| list |];
  observe "tails" [| List.tl (List.tl list); list; List.tl list |];
  observe "floats" (Array.init 5000 (fun n -> Array.make 3 (float n)));
  observe "strings" (Array.init 3000 (fun n -> String.make n 'x'));
  observe "wide" [| Array.init 200_000 (fun n -> if n mod 3 = 0 then Some n else None) |];
  let rec left n tree = if n = 0 then tree else left (n - 1) (Left (tree, n)) in
  observe "left" [| left 200_000 Leaf |];
  observe "closures" (Array.init 100 (fun n -> let rec f x = if x = 0 then n else g (x - 1) and g x = f x + n in (f, g)));
  let rec cycle = 1 :: 2 :: 3 :: cycle in
  observe "cycle" [| List.tl (Sys.opaque_identity cycle) |];
  observe "mixed" [| Obj.repr (Hashtbl.copy (Hashtbl.create 100)); Obj.repr (Bytes.create 77); Obj.repr (lazy (1 + 1)) |];
  let twice = Tag.create "twice" in
  let value = ref 0 in
  keep value;
  for _ = 1 to 5000 do ignore (Tag.mark twice value) done;
  ignore (Tag.mark twice 17);
  let dying = Tag.create "dying" in
  for n = 1 to 10_000 do
    let value = Tag.mark dying (Sys.opaque_identity (Some n)) in
    if n mod 100 = 0 then keep value
  done;
  Tag.kill (Tag.create "killed tag")

let numbers () =
  let counter = Counter.create ~unit:`Bytes "counter" in
  Counter.incr counter;
  Counter.add counter 41;
  Counter.add counter (-5);
  let gauge = Gauge.create "gauge" in
  Gauge.set gauge 3.5;
  Gauge.add gauge (-1.0);
  assert (Gauge.get gauge = 2.5 && Counter.get counter = 42);
  let histogram = Histogram.create ~unit:`Nanoseconds "histogram" in
  for n = 1 to 1000 do Histogram.record histogram n done;
  let span = Span.create "span" in
  let open_one = Span.start span in
  keep open_one;
  Span.finish (Span.start span);
  (match Span.during span (fun () -> raise Exit) with () -> assert false | exception Exit -> ())

let logs () =
  Log.log "plain";
  Log.log "%d %s %c %.2f %b %x%% @@ %Ld@." 1 "two" '3' 4.0 true 255 6L;
  Log.log "@[<v 2>box@,inside@]";
  Log.log "printed by %a" Format.pp_print_int 7;
  Log.log "%t" (fun formatter -> Format.pp_print_string formatter "by %t");
  Log.log "%5d|%-5d|%05d" 1 2 3;
  Log.line "a line\n"

let () =
  points ();
  times ();
  values ();
  weak ();
  tables ();
  trees ();
  numbers ();
  tags ();
  logs ();
  Gc.full_major ();
  say "ready";
  let byte = Bytes.create 1 in
  let rec wait () =
    (* Comes by a safe point every now and then. *)
    ignore (Sys.opaque_identity (ref 0));
    match Unix.select [ Unix.stdin ] [] [] 0.002 with
    | [], _, _ -> ignore (Sys.opaque_identity (Array.make 1000 0)); wait ()
    | _ ->
        if Unix.read Unix.stdin byte 0 1 <> 0 then begin
          Clients.marker "look here";
          wait ()
        end
  in
  wait ();
  ignore (Sys.opaque_identity !kept)
