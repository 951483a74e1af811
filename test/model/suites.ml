(* What is checked: the quick suites take seconds, the full ones minutes. *)

(* [history] and [script] are lengths, [thieves] the attempts of each. *)
let deque (capacity, history, script, thieves) =
  Model_deque.models ~capacity ~history ~script ~thieves

let deques sizes = List.concat_map deque sizes
let promises sizes = List.concat_map Model_promise.models sizes

let quick =
  [
    ("deque, one thief", deques [ (1, 4, 2, [ 2 ]); (2, 6, 2, [ 1 ]) ]);
    ("deque, two thieves", deques [ (1, 4, 1, [ 1; 1 ]) ]);
    ("inbox", Model_inbox.quick);
    ("promise", promises [ 1; 2; 3 ]);
    ("deque and promise", Model_fork.quick);
    ("parking", Model_parking.quick);
    ("leftmost", Model_leftmost.quick);
    ("channels", Model_chan.quick);
    ("mutex", Model_mutex.quick);
    ("semaphore", Model_semaphore.quick);
    ("latch, barrier", Model_latch.quick);
    ("lazy", Model_lazy.quick);
    ("condition", Model_condition.quick);
    ("rwlock", Model_rwlock.quick);
    ("table", Model_table.quick);
    ("admission", Model_admission.quick);
  ]

let full =
  [
    ( "deque, one thief",
      deques
        [ (1, 4, 3, [ 2 ]); (1, 4, 2, [ 3 ]); (2, 5, 2, [ 2 ]); (2, 6, 3, [ 1 ]); (4, 6, 2, [ 2 ]) ]
    );
    ("deque, two thieves", deques [ (1, 4, 2, [ 1; 1 ]); (2, 5, 2, [ 1; 1 ]); (2, 4, 1, [ 2; 1 ]) ]);
    ("inbox", Model_inbox.quick @ Model_inbox.slow);
    ("promise", promises [ 1; 2; 3 ]);
    ("deque and promise", Model_fork.quick @ Model_fork.slow);
    ("parking", Model_parking.quick @ Model_parking.slow);
    ("leftmost", Model_leftmost.quick @ Model_leftmost.slow);
    ("channels", Model_chan.quick @ Model_chan.slow);
    ("mutex", Model_mutex.quick @ Model_mutex.slow);
    ("semaphore", Model_semaphore.quick @ Model_semaphore.slow);
    ("latch, barrier", Model_latch.quick @ Model_latch.slow);
    ("lazy", Model_lazy.quick @ Model_lazy.slow);
    ("condition", Model_condition.quick @ Model_condition.slow);
    ("rwlock", Model_rwlock.quick @ Model_rwlock.slow);
    ("table", Model_table.quick @ Model_table.slow);
    ("admission", Model_admission.quick @ Model_admission.slow);
  ]
