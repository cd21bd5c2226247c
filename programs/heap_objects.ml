(* Objects: of classes with inheritance, immediate ones, with mutable fields, and holding one another. *)

class point x y =
  object
    val mutable x : int = x
    val mutable y : int = y
    method x = x
    method move dx dy = x <- x + dx; y <- y + dy
  end

class named name x y =
  object (self)
    inherit point x y as parent
    val label : string = name ^ "."
    method label = label ^ string_of_int self#x
    method! move dx dy = parent#move (2 * dx) dy
  end

class virtual ['a] stack =
  object
    val mutable items : 'a list = []
    method push item = items <- item :: items
    method virtual limit : int
  end

let points = List.init 2_000 (fun n -> new point n (n + 1))
let names = Array.init 500 (fun n -> new named (string_of_int n) n n)

let stacks =
  List.init 50 (fun n ->
      let stack = object inherit [ string ] stack method limit = n end in
      for m = 1 to n do
        stack#push (string_of_int m)
      done;
      stack)

let counters = List.init 100 (fun n -> let count = ref n in object method next = incr count; !count end)

let () =
  List.iter (fun point -> point#move 1 1) points;
  Heap_fixture.keep (Array.map (fun name -> name#label) names, stacks, counters);
  Heap_fixture.ready ()
