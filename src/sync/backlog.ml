(* Two lists, as usual, but the back one never grows beyond [chunk]: then it is reversed and
   goes, as one element, to the queue in the middle, which is of the same kind (a bootstrapped
   queue: Okasaki, Purely Functional Data Structures, 1998, section 10.1). Elements leave from
   [front], then from the oldest chunk in the middle, then from [back].

   The usual two lists will not do. A receiver that finds the front used up reverses a back list as
   long as the backlog. A sender needs less time for a push, so the compare-and-set fails, and so
   does the next one, until the senders pause. *)

type 'a t =
  | Nil
  | Queue of { front : 'a list; middle : 'a list t; back : 'a list; size : int  (** of [back] *) }

type 'a popped = Empty | Oldest of 'a * 'a t

let chunk = 16
let empty = Nil

let rec push : type a. a t -> a -> a t =
 fun q x ->
  match q with
  | Nil -> Queue { front = [ x ]; middle = Nil; back = []; size = 0 }
  | Queue ({ back; size; _ } as q) when size < chunk ->
    Queue { q with back = x :: back; size = size + 1 }
  | Queue ({ middle; back; _ } as q) ->
    Queue { q with middle = push middle (List.rev back); back = [ x ]; size = 1 }

(* The front is not empty, but in a queue that is. *)
let rec pop : type a. a t -> a popped = function
  | Nil -> Empty
  | Queue { front = [ x ]; middle; back; size } -> Oldest (x, refill middle back size)
  | Queue ({ front = x :: front; _ } as q) -> Oldest (x, Queue { q with front })
  | Queue { front = []; _ } -> assert false

and refill : type a. a list t -> a list -> int -> a t =
 fun middle back size ->
  match pop middle with
  | Oldest (front, middle) -> Queue { front; middle; back; size }
  | Empty -> (
    match back with
    | [] -> Nil
    | _ :: _ -> Queue { front = List.rev back; middle = Nil; back = []; size = 0 })

let of_list list = List.fold_left push empty list
let rec to_list q = match pop q with Empty -> [] | Oldest (x, q) -> x :: to_list q
