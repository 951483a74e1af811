(* What is checked: the quick suites take seconds, the full ones a minute or two. *)

(* [history] and [script] are lengths, [thieves] the attempts of each. *)
let deque (capacity, history, script, thieves) =
  Model_deque.models ~capacity ~history ~script ~thieves

let deques sizes = List.concat_map deque sizes
let promises sizes = List.concat_map Model_promise.models sizes

let quick =
  [
    ("deque, one thief", deques [ (1, 4, 2, [ 2 ]); (2, 6, 2, [ 1 ]); (2, 5, 2, [ 2 ]) ]);
    ("deque, two thieves", deques [ (1, 4, 1, [ 1; 1 ]); (2, 4, 1, [ 1; 1 ]) ]);
    ("inbox", Model_inbox.quick);
    ("promise", promises [ 1; 2 ]);
    ("deque and promise", Model_fork.quick);
    ("parking", Model_parking.quick);
    ("leftmost", Model_leftmost.quick);
    ("channels", Model_chan.quick);
  ]

let full =
  [
    ("deque, one thief", deques [ (1, 4, 3, [ 3 ]); (2, 6, 3, [ 2 ]); (4, 6, 2, [ 2 ]) ]);
    ( "deque, two thieves",
      deques [ (1, 4, 2, [ 1; 1 ]); (2, 5, 2, [ 1; 1 ]); (2, 4, 1, [ 2; 1 ]) ] );
    ("inbox", Model_inbox.quick @ Model_inbox.slow);
    ("promise", promises [ 1; 2; 3 ]);
    ("deque and promise", Model_fork.quick @ Model_fork.slow);
    ("parking", Model_parking.quick @ Model_parking.slow);
    ("leftmost", Model_leftmost.quick @ Model_leftmost.slow);
  ]
