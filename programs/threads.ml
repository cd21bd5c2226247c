(* Threads of the systhreads library: they share queues under Mutex and Condition, allocate all the
   while, raise, and end in every way there is. *)

type 'a queue = { items : 'a Queue.t; lock : Mutex.t; not_empty : Condition.t; not_full : Condition.t }

let capacity = 10

let make () =
  {
    items = Queue.create ();
    lock = Mutex.create ();
    not_empty = Condition.create ();
    not_full = Condition.create ();
  }

let put queue item =
  Mutex.lock queue.lock;
  while Queue.length queue.items >= capacity do
    Condition.wait queue.not_full queue.lock
  done;
  Queue.push item queue.items;
  Condition.signal queue.not_empty;
  Mutex.unlock queue.lock

let take queue =
  Mutex.lock queue.lock;
  while Queue.is_empty queue.items do
    Condition.wait queue.not_empty queue.lock
  done;
  let item = Queue.pop queue.items in
  Condition.signal queue.not_full;
  Mutex.unlock queue.lock;
  item

let work n = List.fold_left ( + ) 0 (List.init (n mod 50) (fun m -> String.length (String.make m 'x')))

let pipeline () =
  let jobs = make () and answers = make () in
  let rec serve () =
    match take jobs with
    | None -> put answers None
    | Some n ->
        put answers (Some (n, work n));
        if n mod 100 = 0 then Thread.yield ();
        serve ()
  in
  let workers = List.init 4 (fun _ -> Thread.create serve ()) in
  let feeder =
    Thread.create
      (fun () ->
        for n = 1 to 2_000 do
          put jobs (Some n)
        done;
        List.iter (fun _ -> put jobs None) workers)
      ()
  in
  let rec collect busy sum =
    if busy = 0 then sum
    else
      match take answers with
      | None -> collect (busy - 1) sum
      | Some (n, answer) -> collect busy (sum + n + answer)
  in
  let sum = collect (List.length workers) 0 in
  List.iter Thread.join (feeder :: workers);
  sum

(* Each in its own way. *)
let endings () =
  let ended = Array.make 4 false in
  let finish n = ended.(n) <- true in
  let threads =
    [
      Thread.create (fun () -> finish 0) ();
      Thread.create (fun () -> try raise Not_found with Not_found -> finish 1) ();
      Thread.create
        (fun () ->
          finish 2;
          (Thread.exit [@warning "-3"]) ())
        ();
      Thread.create
        (fun () ->
          Thread.delay 0.01;
          finish 3)
        ();
    ]
  in
  List.iter Thread.join threads;
  Array.for_all Fun.id ended

(* Threads that do nothing but allocate, so that the master lock changes hands in allocations. *)
let contention () =
  let results = Array.make 4 0 in
  let spin id =
    for n = 1 to 5_000 do
      results.(id) <- results.(id) + List.length (List.rev [ n; id; n ])
    done
  in
  List.iter Thread.join (List.init 4 (Thread.create spin));
  Array.fold_left ( + ) 0 results

let () =
  Printf.printf "pipeline: %d\n%!" (pipeline ());
  Printf.printf "endings: %b\n%!" (endings ());
  Printf.printf "contention: %d\n" (contention ());
  (* Still there when the program ends. *)
  ignore (Thread.create (fun () -> while true do ignore (Sys.opaque_identity (ref 0)) done) ())
