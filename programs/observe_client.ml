(* What Bactrian_client reads, a line for each event, for tests: of recordings, or of a process until a marker comes that was wished for. *)
open Bactrian_client

(* Without what is no ASCII: Rust replaces what is not UTF-8. *)
let plain text =
  let is_plain letter = letter >= ' ' && letter < '\127' in
  String.concat "" (List.filter_map (fun c -> if is_plain c then Some (String.make 1 c) else None) (List.of_seq (String.to_seq text)))

let strings one list = String.concat "," (List.map one list)
let option = function None -> "-" | Some number -> string_of_int number
let float number = Printf.sprintf "%Lx" (if Float.is_nan number then 0L else Int64.bits_of_float number)

let histogram h =
  Printf.sprintf "count %d sum %d from %d to %d half %d most %d in %d" (Histogram.count h) (Histogram.sum h)
    (Histogram.smallest h) (Histogram.largest h) (Histogram.percentile h 50.) (Histogram.percentile h 99.)
    (List.length (Histogram.buckets h))

let value = function
  | Count n -> Printf.sprintf "count %d" n
  | Elapsed { nanos; runs; running } -> Printf.sprintf "elapsed %d %d %b" nanos runs running
  | Int n -> Printf.sprintf "int %d" n
  | Float x -> "float " ^ float x
  | Bool b -> Printf.sprintf "bool %b" b
  | Text text -> "text " ^ plain text
  | Alive { count; bytes } -> Printf.sprintf "alive %s %s" (option count) (option bytes)
  | Nodes nodes ->
      let node { label; children } = Printf.sprintf "%s(%s)" (plain label) (strings string_of_int children) in
      "nodes " ^ strings node (Array.to_list nodes)
  | Filled { buckets; bindings; empty; longest } -> Printf.sprintf "filled %d %d %d %d" buckets bindings empty longest
  | Distribution h -> "distribution " ^ histogram h
  | Spans { opened; durations } -> Printf.sprintf "spans %d %s" opened (histogram durations)
  | Places sites ->
      let site { place; rate; live; samples } = Printf.sprintf "%s %s %s %d" (plain place) (float rate) (float live) samples in
      "places " ^ strings site sites
  | Failed why -> "failed " ^ plain why
  | Collected -> "collected"
  | Killed -> "killed"

let kind = function
  | Point -> "point" | Time -> "time" | Int -> "int" | Float -> "float" | Bool -> "bool" | Text -> "text" | Tag -> "tag"
  | Tree -> "tree" | Table -> "table" | Counter -> "counter" | Gauge -> "gauge" | Histogram -> "histogram" | Span -> "span"
  | Sites -> "sites"

let measure = function Plain -> "plain" | Bytes -> "bytes" | Nanoseconds -> "nanoseconds" | Percent -> "percent"

let event = function
  | Hello { name; pid; started; runtime; controls; run } ->
      Printf.sprintf "hello %s %d %d %s %b %s" (plain name) pid started (plain runtime) controls (plain run)
  | Declare { id; kind = k; name; labels; measure = m; period } ->
      let label (key, value) = plain key ^ "=" ^ plain value in
      Printf.sprintf "declare %d %s %s %s %s %d" id (kind k) (plain name) (strings label labels) (measure m) period
  | Tick { at; cpu } -> Printf.sprintf "tick %d %d" at cpu
  | Update (id, v) -> Printf.sprintf "update %d %s" id (value v)
  | Log { at; line } -> Printf.sprintf "log %d %s" at (plain line)
  | Marker text -> "marker " ^ plain text
  | Dropped { ticks; lines } -> Printf.sprintf "dropped %d %d" ticks lines
  | Answer { request; result } ->
      let text = match result with Ok text -> "done " ^ plain text | Error why -> "not done " ^ plain why in
      Printf.sprintf "answer %d %s" request text
  | End why -> "end " ^ plain why

let rec all source =
  match next source with
  | Some it ->
      print_endline (event it);
      all source
  | None -> print_endline (if is_cut source then "cut" else "over")
  | exception Malformed what -> print_endline ("malformed " ^ what)

let recorded path =
  print_endline "file";
  match recording path with
  | source ->
      all source;
      close source
  | exception Malformed _ -> print_endline "no recording"

(* Until our marker has come, when the first values have. *)
let watched source =
  let state = State.create () in
  let rec watch () =
    match next source with
    | None -> print_endline "over"
    | Some it -> (
        State.take state it;
        match it with
        | Tick _ when State.observers state <> [] && State.value_of state (List.hd (State.observers state)) = None ->
            ignore (wish source (Mark "enough"));
            watch ()
        | Marker "enough" ->
            let told observer =
              match State.value_of state observer with
              | None -> ()
              | Some v -> Printf.printf "%s: %s\n" (plain observer.name) (value v)
            in
            List.iter told (State.observers state);
            Printf.printf "at %b, process %b\n" (State.at state > 0) (State.program state <> None)
        | _ -> watch ())
  in
  watch ();
  close source

let () =
  match Array.to_list Sys.argv with
  | _ :: "recordings" :: files -> List.iter recorded files
  | [ _; "process"; pid ] ->
      let pid = int_of_string pid in
      Printf.printf "listens: %b\n" (List.mem pid (processes ()));
      watched (of_process pid)
  | [ _; "port"; port; token ] -> (
      let address = Unix.ADDR_INET (Unix.inet_addr_loopback, int_of_string port) in
      match connect ~token address with
      | source -> watched source
      | exception Refused why -> print_endline ("refused: " ^ why)
      | exception Malformed what -> print_endline ("malformed: " ^ what))
  | _ -> exit 2
