(* Threads that wait, each with values on its stack that nobody else holds: in a system call, for a lock, for
   a condition; and one that has ended. *)

let lock = Mutex.create ()
let condition = Condition.create ()
let started = ref 0
let all = Condition.create ()

let announce () =
  Mutex.lock lock;
  incr started;
  Condition.signal all;
  Mutex.unlock lock

let rec hold depth wait =
  let mine = List.init 50 (fun n -> string_of_int (n + depth)) in
  if depth = 0 then begin
    announce ();
    wait ()
  end
  else begin
    hold (depth - 1) wait;
    Heap_fixture.keep mine
  end

let never_read, never_written = Unix.pipe ()
let buffer = Bytes.create 1
let in_system_call () = ignore (Unix.read never_read buffer 0 1)

let for_condition () =
  Mutex.lock lock;
  while true do
    Condition.wait condition lock
  done

let waiters = [ in_system_call; for_condition; in_system_call; for_condition ]
let threads = List.mapi (fun n wait -> Thread.create (hold (10 * (n + 1))) wait) waiters

let () =
  Thread.join (Thread.create (hold 5) ignore);
  Mutex.lock lock;
  while !started < List.length waiters + 1 do
    Condition.wait all lock
  done;
  Mutex.unlock lock;
  (* Those that announced themselves last get to where they wait. *)
  Thread.delay 0.2;
  Heap_fixture.keep (threads, never_written);
  Heap_fixture.ready ()
