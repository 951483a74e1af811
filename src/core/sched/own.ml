type fiber = {
  mutable context : Promise.any;
  mutable home : Promise.home;
  mutable number : int;
  mutable checked : bool;
  handled : bool;
  mutable beneath : fiber;
  mutable depth : int;
  mutable traced : int;
}

type t = {
  mutable fiber : fiber;
  idle : fiber;
  mutable in_share : bool;
  mutable filling : bool;
  mutable bored : bool;
  mutable task : Promise.any;
  mutable records : bool;
  mutable is_over : unit -> bool;
  mutable victim : int;
  mutable polls : int;
  cpu_wait : Cpu_wait.t;
  counts : Counts.t;
}

let none = Promise.(any (make nowhere ignore))
let uncancelled = Promise.(any (started nowhere))

let make_idle home =
  let context = uncancelled in
  let rec idle =
    {
      context;
      home;
      number = 0;
      checked = false;
      handled = false;
      beneath = idle;
      depth = 0;
      traced = 0;
    }
  in
  idle

let never () = false

let make home victim =
  let idle = make_idle home in
  Compat.padded
    {
      fiber = idle;
      idle;
      in_share = false;
      filling = true;
      bored = false;
      task = none;
      records = false;
      is_over = never;
      victim;
      polls = 0;
      cpu_wait = Cpu_wait.make ();
      counts = Counts.make ();
    }

let[@inline] run t fiber = t.fiber <- fiber
let[@inline] set_in_share t yes = t.in_share <- yes
let[@inline] set_filling t yes = t.filling <- yes
let set_bored t yes = t.bored <- yes

let[@inline] found t task ~records =
  t.task <- task;
  t.records <- records

let[@inline] set_is_over t f = t.is_over <- f
let[@inline] count_poll t = t.polls <- t.polls + 1
let put_back t task = t.task <- task
let turn_to t victim = t.victim <- victim
