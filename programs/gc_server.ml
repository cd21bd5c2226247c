(* A server under load: clients in another process ask for pages of users over sockets; the server parses the request, keeps what
   it rendered last for each of some thousand users, and the last requests of each session. The argument is how many requests (in
   thousands) it answers before it ends. Needs unix. *)

let clients = 16
let users = 20_000

type user = { name : string; friends : int list; visits : (int * string) list }

let user number =
  let friends = List.init (5 + (number mod 20)) (fun i -> (number * 31 + (i * 7)) mod users) in
  { name = Printf.sprintf "user %d" number; friends; visits = [] }

let render table number =
  let user = Hashtbl.find table number in
  let buffer = Buffer.create 200 in
  Buffer.add_string buffer (Printf.sprintf "{\"name\": %S, \"friends\": [" user.name);
  let names = List.map (fun friend -> (Hashtbl.find table friend).name) user.friends in
  Buffer.add_string buffer (String.concat ", " (List.map (Printf.sprintf "%S") names));
  Buffer.add_string buffer "], \"visits\": [";
  List.iter (fun (when_, what) -> Buffer.add_string buffer (Printf.sprintf "[%d, %S]" when_ what)) user.visits;
  Buffer.add_string buffer "]}\n";
  Buffer.contents buffer

let rec take n = function x :: rest when n > 0 -> x :: take (n - 1) rest | _ -> []

let answer table pages count line =
  match String.split_on_char ' ' line with
  | [ "GET"; number ] ->
    let number = int_of_string number in
    let user = Hashtbl.find table number in
    let visits = take 10 ((count, Printf.sprintf "request %d" count) :: user.visits) in
    Hashtbl.replace table number { user with visits };
    let page = render table number in
    pages.(number mod Array.length pages) <- page;
    page
  | _ -> "error\n"

(* One client: asks, reads the line of the answer, asks again. *)
let client seed =
  Random.init seed;
  fun () -> Printf.sprintf "GET %d\n" (Random.int users)

let drive sockets =
  let asks = Array.mapi (fun i _ -> client i) sockets in
  let buffer = Bytes.create 65_536 in
  let send i =
    let line = asks.(i) () in
    ignore (Unix.write_substring sockets.(i) line 0 (String.length line))
  in
  Array.iteri (fun i _ -> send i) sockets;
  let rec loop () =
    let ready, _, _ = Unix.select (Array.to_list sockets) [] [] (-1.) in
    List.iter
      (fun socket ->
        let got = Unix.read socket buffer 0 (Bytes.length buffer) in
        if got = 0 then exit 0;
        if Bytes.get buffer (got - 1) = '\n' then
          Array.iteri (fun i other -> if other = socket then send i) sockets)
      ready;
    loop ()
  in
  try loop () with Unix.Unix_error _ -> exit 0

let serve requests sockets =
  let table = Hashtbl.create users in
  for number = 0 to users - 1 do Hashtbl.add table number (user number) done;
  let pages = Array.make 4_000 "" in
  let buffer = Bytes.create 4_096 in
  let count = ref 0 and bytes = ref 0 in
  while !count < requests do
    let ready, _, _ = Unix.select sockets [] [] (-1.) in
    List.iter
      (fun socket ->
        let got = Unix.read socket buffer 0 (Bytes.length buffer) in
        incr count;
        let page = answer table pages !count (Bytes.sub_string buffer 0 (max 0 (got - 1))) in
        bytes := !bytes + Unix.write_substring socket page 0 (String.length page))
      ready
  done;
  Printf.printf "%d requests\n" (!count / 1_000 * 1_000)

let () =
  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
  let requests = 1_000 * int_of_string Sys.argv.(1) in
  let pairs = List.init clients (fun _ -> Unix.socketpair Unix.PF_UNIX Unix.SOCK_STREAM 0) in
  (* The clients are no children of the server, so that their time is not counted as its own. *)
  match Unix.fork () with
  | 0 ->
    if Unix.fork () = 0 then begin
      List.iter (fun (mine, _) -> Unix.close mine) pairs;
      drive (Array.of_list (List.map snd pairs))
    end
    else Unix._exit 0
  | child ->
    ignore (Unix.waitpid [] child);
    List.iter (fun (_, theirs) -> Unix.close theirs) pairs;
    serve requests (List.map fst pairs)
