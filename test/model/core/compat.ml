(* Domain-local storage: each process of a model is a domain, but for those that are threads of
   one. There a look is a step, and a write that follows it belongs to that step, as it does in a
   domain whose threads take turns only where something is allocated. *)

let one_domain : int list ref = ref []
let () = Atomic.at_start := (fun () -> one_domain := []) :: !Atomic.at_start
let looks = Atomic.make 0

let domain () =
  let me = !Atomic.current in
  if List.mem me !one_domain then List.hd !one_domain else me

let padded block = block
let atomic_at = Array.unsafe_get
let recast = Obj.magic
let store = Atomic.set
let store_int = Atomic.set

type 'a slot = { mutable values : (int * 'a) list; init : unit -> 'a }

let slot init =
  let s = { values = []; init } in
  Atomic.at_start := (fun () -> s.values <- []) :: !Atomic.at_start;
  s

let set_of domain s v = s.values <- (domain, v) :: List.remove_assoc domain s.values
let set s v = set_of (domain ()) s v
let get_of domain s = Option.value (List.assoc_opt domain s.values) ~default:(s.init ())

let get s =
  if List.mem !Atomic.current !one_domain then Atomic.incr looks;
  match List.assoc_opt (domain ()) s.values with
  | Some v -> v
  | None ->
    let v = s.init () in
    set s v;
    v

let shows s v = get s == v

(* {2 First words}

   A traced atomic is no field, so a block's first word is one beside it, made by [start]. *)

let words : (Obj.t * int Atomic.t) list ref = ref []
let () = Atomic.at_start := (fun () -> words := []) :: !Atomic.at_start

let first_word block =
  match List.assq_opt (Obj.repr block) !words with
  | Some word -> word
  | None ->
    let word = Atomic.make 0 in
    words := (Obj.repr block, word) :: !words;
    word

type index = unit -> bool

let index s () = Atomic.get (first_word (get s)) <> 0
let index_in_state _ = -1
let first_word_set index = index ()
let fibers handler f x = Effect.Deep.match_with f x handler
