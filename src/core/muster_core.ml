(* Aliases only, so that there is no interface: the modules of the four libraries of the core. *)

module Blocks = Muster_machine.Blocks
module Compat = Muster_machine.Compat
module Cpu = Muster_machine.Cpu
module Heap = Muster_machine.Heap
module Leftmost = Muster_machine.Leftmost
module Machine = Muster_machine.Machine
module Outcome = Muster_machine.Outcome
module Stack_room = Muster_machine.Stack_room

module Cancellation = Muster_queue.Cancellation
module Deque = Muster_queue.Deque
module Entries = Muster_queue.Entries
module Inbox = Muster_queue.Inbox
module Mailbox = Muster_queue.Mailbox
module Parking = Muster_queue.Parking
module Promise = Muster_queue.Promise
module Timer = Muster_queue.Timer
module Uncaught = Muster_queue.Uncaught

module Budget = Muster_sched.Budget
module Caller = Muster_sched.Caller
module Collection_rate = Muster_sched.Collection_rate
module Counts = Muster_sched.Counts
module Dla = Muster_await.Dla
module Event = Muster_sched.Event
module Fiber = Muster_sched.Fiber
module Governor = Muster_sched.Governor
module History = Muster_sched.History
module Load = Muster_sched.Load
module Place = Muster_sched.Place
module Publish = Muster_sched.Publish
module Run = Muster_sched.Run
module Search = Muster_sched.Search
module Sleep = Muster_sched.Sleep
module Slot = Muster_sched.Slot
module Tell = Muster_sched.Tell
module Trigger = Muster_sched.Trigger
module Waiter = Muster_sched.Waiter
module Waiting = Muster_sched.Waiting
module Worker = Muster_sched.Worker

module Fork = Muster_pool.Fork
module Pool = Muster_pool.Pool
module Region = Muster_pool.Region
module Report = Muster_pool.Report
module Resident = Muster_pool.Resident
module Scope = Muster_pool.Scope
module Stats = Muster_pool.Stats
module Task = Muster_pool.Task
module Watchdog = Muster_pool.Watchdog
