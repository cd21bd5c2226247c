(* Marked for the ppx: all that it knows. Runs until its input ends. *)

let requests = ref 0 [@@observe]
let ratio = ref 0.5 [@@observe "the ratio"]
let is_on = ref true [@@observe]
let title = ref "before" [@@observe]
let computed = ref (String.length "abc") [@@observe int]
let cache : (int, string) Hashtbl.t = Hashtbl.create 17 [@@observe]
let double x = 2 * x [@@observe]
let rec sum so_far = function [] -> so_far | x :: rest -> sum (so_far + x) rest [@@observe]
let labelled ?(a = 1) ~b c = a + b + c [@@observe time]
let joined x y = x ^ y [@@observe calls, "strings that were joined"]

let rec even n = n = 0 || odd (n - 1)
and odd n = n <> 0 && even (n - 1) [@@observe calls]

let listed : type a. a option -> a list = function None -> [] | Some x -> [ x ] [@@observe]
let raises () = raise Not_found [@@observe]
let plain = 17

module Inner = struct
  let next x = x + 1 [@@observe]
  let plain x = x
end

[@@@observe calls]

let all x = x
let none x = x [@@observe off]
let first, second = (1, 2)

module Deep = struct
  let table : (int, int) Hashtbl.t = Hashtbl.create 1
  let called () = ()
end

module Make (X : sig end) = struct
  let not_observed () = ()
end

let () =
  requests := 3;
  title := "after";
  Hashtbl.replace cache 1 "one";
  Hashtbl.replace Deep.table 1 1;
  assert (double 2 = 4 && double 3 = 6);
  (* Deep enough to need tail calls. *)
  assert (sum 0 (List.init 1_000_000 (fun _ -> 1)) = 1_000_000);
  assert (labelled ~b:2 3 = 6 && labelled ~a:2 ~b:2 3 = 7);
  assert (joined "a" "b" = "ab" && odd 5 && listed (Some 1) = [ 1 ] && listed (Some "x") = [ "x" ]);
  (match raises () with () -> assert false | exception Not_found -> ());
  assert (Inner.next (Inner.plain plain) = 18 && all 1 = none 1 && first + second = 3);
  Deep.called ();
  let module Made = Make (struct end) in
  Made.not_observed ();
  ignore (is_on, ratio, computed, even);
  print_endline "ready";
  let rec wait () =
    ignore (Sys.opaque_identity (Array.make 100 0));
    match Unix.select [ Unix.stdin ] [] [] 0.002 with [], _, _ -> wait () | _ -> ()
  in
  wait ()
