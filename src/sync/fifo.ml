(* A bootstrapped queue (Okasaki, Purely Functional Data Structures, 1998, section 10.1). The back
   list never grows beyond [chunk]: then it is reversed and goes, as one element, to the queue in
   the middle. Elements leave from [front], then from the oldest chunk in the middle, then from
   [back].

   With two plain lists a receiver would now and then reverse a list as long as the backlog. A
   sender pushes in less time, so the receiver's compare-and-set would fail, again and again. *)

type 'a t =
  | Nil
  | Queue of {
      front : 'a list;  (** not empty *)
      middle : 'a list t;
      back : 'a list;  (** the latest first *)
      size : int;  (** of [back] *)
      length : int;  (** of the whole queue; in the middle, the number of chunks *)
      limit : int;  (** the length at which [push_live] sweeps *)
    }

type 'a popped = Empty | Oldest of 'a * 'a t

let chunk = 16
let shortest = 8
let empty = Nil
let is_empty = function Nil -> true | Queue _ -> false
let length = function Nil -> 0 | Queue { length; _ } -> length

let of_list = function
  | [] -> Nil
  | front ->
    let length = List.length front in
    let limit = Int.max shortest (2 * length) in
    Queue { front; middle = Nil; back = []; size = 0; length; limit }

let rec push : type a. a t -> a -> a t =
 fun q x ->
  match q with
  | Nil -> of_list [ x ]
  | Queue ({ back; size; length; _ } as q) when size < chunk ->
    Queue { q with back = x :: back; size = size + 1; length = length + 1 }
  | Queue ({ middle; back; length; _ } as q) ->
    let middle = push middle (List.rev back) in
    Queue { q with middle; back = [ x ]; size = 1; length = length + 1 }

let rec pop : type a. a t -> a popped = function
  | Nil -> Empty
  | Queue { front = []; _ } -> assert false
  | Queue ({ front = x :: (_ :: _ as front); length; _ } as q) ->
    Oldest (x, Queue { q with front; length = length - 1 })
  | Queue ({ front = [ x ]; middle; back; length; _ } as q) -> (
    match pop middle with
    | Oldest (front, middle) -> Oldest (x, Queue { q with front; middle; length = length - 1 })
    | Empty -> Oldest (x, of_list (List.rev back)))

let[@tail_mod_cons] rec to_list q =
  match pop q with Empty -> [] | Oldest (x, q) -> x :: to_list q

let rec exists f q = match pop q with Empty -> false | Oldest (x, q) -> f x || exists f q

(* The pushes since the last sweep pay for this one. *)
let push_live ~is_live q x =
  match q with
  | Queue { length; limit; _ } when length >= limit ->
    push (of_list (List.filter is_live (to_list q))) x
  | Nil | Queue _ -> push q x
