(* What is checked of the core as it ships. *)

let quick =
  [
    ("regions", Model_region.quick);
    ("fork and join", Model_fork.quick);
    ("waits, cancelled", Model_waiter.quick);
    ("awaits", Model_await.quick);
    ("triggers", Model_trigger.quick);
    ("uncaught failures", Model_uncaught.quick);
    ("stops and scopes around", Model_lineage.quick);
    ("scopes", Model_scope.quick);
    ("hire, leave, close", Model_staff.quick);
    ("timers", Model_timer.quick);
    ("callers' fibers", Model_caller.quick);
    ("the watchdog, places beside", Model_watchdog.quick);
  ]

let full =
  [
    ("regions", Model_region.(quick @ slow));
    ("fork and join", Model_fork.(quick @ slow));
    ("waits, cancelled", Model_waiter.(quick @ slow));
    ("awaits", Model_await.(quick @ slow));
    ("triggers", Model_trigger.(quick @ slow));
    ("uncaught failures", Model_uncaught.(quick @ slow));
    ("stops and scopes around", Model_lineage.(quick @ slow));
    ("scopes", Model_scope.(quick @ slow));
    ("hire, leave, close", Model_staff.(quick @ slow));
    ("timers", Model_timer.(quick @ slow));
    ("callers' fibers", Model_caller.(quick @ slow));
    ("the watchdog, places beside", Model_watchdog.(quick @ slow));
  ]
