module Observer = Bactrian_observer

type 'a observed =
  ?labels:Observer.labels ->
  ?unit:Observer.unit_of_measure ->
  ?weak:bool ->
  ?period:int ->
  string ->
  (unit -> 'a) ->
  Observer.t

type 'a observed_ref =
  ?labels:Observer.labels ->
  ?unit:Observer.unit_of_measure ->
  ?period:int ->
  string ->
  'a ref ->
  Observer.t

external say_ref : Observer.t -> Observer.kind -> Obj.Ephemeron.t -> Observer.outcome = "bactrian_say_ref"

let observe kind ?labels ?unit ?(weak = false) ?period name f =
  let call f id = Observer.say id kind (f ()); Observer.Said in
  if weak then Observer.asked_weakly kind ?labels ?unit ?period name ~key:f call
  else Observer.asked kind ?labels ?unit ?period name (fun id ~deadline:_ -> call f id)

let int ?labels = observe Observer.Int ?labels
let float ?labels = observe Observer.Float ?labels
let bool ?labels = observe Observer.Bool ?labels
let string ?labels = observe Observer.Text ?labels

let observe_ref kind ?labels ?unit ?period name reference =
  let cell = Obj.Ephemeron.create 1 in
  Obj.Ephemeron.set_key cell 0 (Obj.repr reference);
  Observer.asked kind ?labels ?unit ?period name (fun id ~deadline:_ -> say_ref id kind cell)

let int_ref ?labels = observe_ref Observer.Int ?labels
let float_ref ?labels = observe_ref Observer.Float ?labels
let bool_ref ?labels = observe_ref Observer.Bool ?labels
let string_ref ?labels = observe_ref Observer.Text ?labels

let constant kind ?labels name what =
  let id = Observer.published kind ?labels name in
  Observer.say id kind what;
  id

let constant_int ?labels = constant Observer.Int ?labels
let constant_float ?labels = constant Observer.Float ?labels
let constant_bool ?labels = constant Observer.Bool ?labels
let constant_string ?labels = constant Observer.Text ?labels
