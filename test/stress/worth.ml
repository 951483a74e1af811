open Graph

exception Boom of int

module type RUNNER = sig
  val both : (unit -> int) -> (unit -> int) -> int * int
  val async : (unit -> int) list -> int list
  val shared : int -> (unit -> int) -> int list
  val all : (unit -> int) list -> int list
  val first : (unit -> int) list -> int
  val any : (unit -> int) list -> int
  val promised : (unit -> int) -> int
  val named : int -> (unit -> int) -> int
  val scope : (unit -> int) list -> int list
  val deadline : (unit -> int) -> int
  val cancel : early:bool -> (unit -> int) -> (unit -> int) -> int
  val for_ : grain:int option -> int -> (int -> unit) -> unit
  val reduce : grain:int option -> int -> ('a -> 'a -> 'a) -> 'a -> (int -> 'a) -> 'a
  val find : int -> (int -> int option) -> int option
  val scan : ('a -> 'a -> 'a) -> 'a array -> 'a array
  val team : team -> int -> (int -> unit) -> unit
  val run : (unit -> int) -> int
  val elsewhere : (unit -> int) -> int
  val in_domain : (unit -> int) -> int
  val in_thread : (unit -> int) -> int
  val below_c : (unit -> int) -> int
  val fresh : (unit -> int) -> int
  val ported : (unit -> int) list -> int list
  val pipeline : bound:int option -> (int -> int) list -> (unit -> int) list -> int list
  val bounded : max:int -> (unit -> int) list -> int list
  val windowed : window:int -> (unit -> int) list -> int list
  val selected : (unit -> int) list -> int list
  val meeting : meeting -> (unit -> int) list -> int list
  val blocking : (unit -> int) -> int
  val kernel : dynamic:bool -> int -> int
  val collection : collection -> int array -> int array
  val hurried : (unit -> int) -> unit
  val dropped : (unit -> int) list -> unit
  val fault : fault -> unit
  val note : t -> unit
end

let prime = 999_983
let mix a b = ((a * 31) + b + 7) mod prime

(* No worth: those are less than [prime], and may be negative, as what a search without result is worth is. *)
let not_run = min_int

(* x -> a x + b: composition is associative, not commutative. *)
let compose (a, b) (c, d) = (a * c mod prime, ((a * d) + b) mod prime)
let kernel_step i = i * 7919 mod 1009
let letter i = Char.chr (97 + (i mod 23))
let stage i v = mix v (i + 1)

module Value (R : RUNNER) = struct
  (* Plain cells, one per index: what a loop wrote must be seen after its join. *)
  let summed count loop f =
    let cells = Array.make count not_run in
    loop (fun i -> cells.(i) <- f i);
    if Array.mem not_run cells then failwith "an index was not run";
    Array.fold_left mix 0 cells

  let rec value graph =
    R.note graph;
    match graph with
    | Leaf n -> n
    | Fail n -> raise (Boom n)
    | Both (a, b) ->
      let x, y = R.both (part a) (part b) in
      mix x y
    | Async l -> total (R.async (List.map part l))
    | Shared (n, g) -> total (R.shared n (part g))
    | All l -> total (R.all (List.map part l))
    | First l -> R.first (List.map part l)
    | Any l -> R.any (List.map part l)
    | Promised g -> R.promised (part g)
    | Named (n, g) -> R.named n (part g)
    | Scope l -> total (R.scope (List.map part l))
    | Deadline g -> R.deadline (part g)
    | Cancel { early; victim; rest } -> R.cancel ~early (part victim) (part rest)
    | For l -> summed l.count (R.for_ ~grain:l.grain l.count) (indexed l.fails_at l.body)
    | Reduce l ->
      let affine i = (i + 2, indexed l.fails_at l.body i) in
      let a, b = R.reduce ~grain:l.grain l.count compose (1, 0) affine in
      mix a b
    | Find { count; found_at; fails_at } ->
      Option.value ~default:(-1) (R.find count (find_step found_at fails_at))
    | Scan n ->
      let maps = R.scan compose (Array.init n (fun i -> (i + 2, i))) in
      Array.fold_left (fun sum (a, b) -> mix sum (mix a b)) 0 maps
    | Team t -> summed t.count (R.team t.team t.count) (indexed t.fails_at t.body)
    | Run g -> R.run (part g)
    | Elsewhere g -> R.elsewhere (part g)
    | In_domain g -> R.in_domain (part g)
    | In_thread g -> R.in_thread (part g)
    | Below_c g -> R.below_c (part g)
    | Fresh g -> R.fresh (part g)
    | Hurried g ->
      R.hurried (part g);
      3
    | Fault f ->
      R.fault f;
      7
    | Blocking n -> R.blocking (fun () -> mix n n)
    | Kernel { dynamic; count } -> R.kernel ~dynamic count
    | Collection (c, n) ->
      Array.fold_left mix 0 (R.collection c (Array.init n (fun i -> kernel_step (i + n))))
    | (Ported _ | Pipeline _ | Bounded _ | Windowed _ | Selected _ | Meeting _ | Dropped _) as several -> of_several several

  and of_several = function
    | Ported l -> total (R.ported (List.map part l))
    | Pipeline { stages; bound; items } ->
      total (R.pipeline ~bound (List.init stages stage) (List.map part items))
    | Bounded { max; items } -> total (R.bounded ~max (List.map part items))
    | Windowed { window; items } -> total (R.windowed ~window (List.map part items))
    | Selected l -> total (R.selected (List.map part l))
    | Meeting (m, l) -> total (R.meeting m (List.map part l))
    | Dropped l ->
      R.dropped (List.map part l);
      5
    | _ -> assert false

  and part g () = value g
  and total values = List.fold_left mix 0 values
  and indexed fails_at body i = if i = fails_at then raise (Boom i) else mix i (value body)

  and find_step found_at fails_at i =
    if i = fails_at then raise (Boom i) else if i >= found_at then Some i else None
end

module Sequential = struct
  let both f g =
    let x = f () in
    (x, g ())

  let async = List.map (fun f -> f ())
  let all = async
  let scope = async
  let deadline f = f ()
  let cancel ~early:_ _ rest = rest ()

  let shared n f =
    let x = f () in
    List.init n (fun _ -> x)

  let rec first = function
    | [] -> invalid_arg "first"
    | [ f ] -> f ()
    | f :: others -> (
      try f () with leftmost -> ( try first others with Boom _ -> raise leftmost))

  let any = first
  let promised f = f ()
  let named _ f = f ()

  let loop count f =
    for i = 0 to count - 1 do
      f i
    done

  let for_ ~grain:_ = loop

  let reduce ~grain:_ count combine init f =
    List.fold_left (fun sum i -> combine sum (f i)) init (List.init count Fun.id)

  let find count f = List.find_map f (List.init count Fun.id)

  let scan op a =
    let step i x = if i > 0 then a.(i) <- op a.(i - 1) x in
    Array.iteri step a;
    a

  let team _ = loop
  let run f = f ()
  let elsewhere = run
  let in_domain = run
  let in_thread = run
  let below_c = run
  let fresh = run
  let ported = async
  let through stages v = List.fold_left (fun v stage -> stage v) v stages
  let pipeline ~bound:_ stages fs = List.map (fun f -> through stages (f ())) fs
  let bounded ~max:_ = async
  let windowed ~window:_ = async
  let selected = async
  let meeting _ = async
  let blocking = run
  let kernel ~dynamic:_ n = List.fold_left (fun sum i -> sum + kernel_step i) 0 (List.init n Fun.id)

  let collection call a =
    let is_odd x = x land 1 = 1 in
    match call with
    | Map | With_state | On_list | On_seq -> Array.map (mix 5) a
    | Sort ->
      Array.sort compare a;
      a
    | Filter -> Array.of_list (List.filter is_odd (Array.to_list a))
    | Fold | Parts -> [| Array.fold_left ( + ) 0 a |]
    | On_bytes -> Array.map (fun x -> Char.code (letter x)) a

  let hurried _ = ()
  let dropped _ = ()
  let fault _ = ()
  let note _ = ()
end
