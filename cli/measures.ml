type site = { place : string; tasks : int; seconds : float; longest : float }

type t = {
  wall : float;
  workers : int;
  working : float;
  minor : float;
  major : float;
  stop : float;
  held : float;
  looking : float;
  parked : float;
  outside : float;
  unknown : float;
  missing : (string * float) list;
  straggling : float;
  straggler : (string * float) option;
  tasks : int;
  forks : int;
  steals : int;
  grains : int array;
  sampled : bool;
  sites : site list;
  work : float;
  span : float;
  chain : (string * float) list;
  waits : (string * int * float) list;
  wait_places : ((string * string) * int) list;
  minors : int;
  promoted : int;
  allocated : int;
  forced : (string * int) list;
  spun : float;
  queue : float;
  blocked : float;
  blocked_in : (string * float) list;
  asleep_in : (string * float) list;
  beside : float;
  quiet : float;
}
