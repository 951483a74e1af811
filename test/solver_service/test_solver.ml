(* What the solver answers, without the network. *)

open Muster_solver_service

let case name f = Alcotest.test_case name `Quick f

let answer solver request =
  let repository = Solver.repository solver in
  match Solver.solve solver request with
  | Packages packages -> Repository.list repository packages
  | No_solution -> "no solution"
  | No_such_package -> "no such package"

let solve ?ocaml repository package = answer (Solver.make repository) { package; ocaml }

let check repository ?ocaml package expected =
  Alcotest.(check string) package expected (solve ?ocaml repository package)

(* {2 Opam} *)

let answers repository () =
  check repository "newest" "newest.1.10";
  check repository "app" "app.1.0 lib.2.1 ocaml.5.4.0 right.1" ~ocaml:"5.4.0";
  check repository "app" "app.1.0 left.1 lib.2.0 ocaml.4.14.2" ~ocaml:"4.14.2";
  check repository "lib" "lib.2.1 ocaml.5.4.0";
  check repository "lib" "lib.2.0 ocaml.4.14.2" ~ocaml:"4.14.2";
  check repository "both" "no solution";
  check repository "lib" "lib.1.0" ~ocaml:"3.12";
  check repository "nothing" "no such package"

let archive root () =
  let file = Filename.concat (Fixture.folder ()) "packages.tar.gz" in
  Fixture.run "tar" [ "-czf"; file; "--owner=some body"; "-C"; root; "packages" ];
  answers (Repository.load (Opam file)) ()

let unreadable () =
  let refuses what f =
    match f () with
    | exception Repository.Unreadable _ -> ()
    | _ -> Alcotest.failf "%s was read" what
  in
  let root = Fixture.tree () in
  Fixture.add root ("bad", "1", [ "depends: [" ]);
  Fixture.add root ("large", "1", [ "depends: " ^ String.make 30 '9' ]);
  let repository = Repository.load (Opam root) in
  refuses "a torn opam file" (fun () -> solve repository "bad");
  refuses "a number beyond all ints" (fun () -> solve repository "large");
  check repository "newest" "newest.1.10";
  let file = Filename.concat root "no.tar" in
  Fixture.write file "no archive";
  refuses "a torn archive" (fun () -> Repository.load (Opam file));
  refuses "a missing archive" (fun () -> Repository.load (Opam (file ^ ".gz")));
  refuses "no index" (fun () -> Repository.load (Debian []))

(* One solver for all answers, in any order, gives those of a fresh one for each. *)
let keeps_nothing_wrong repository () =
  let solver = Solver.make repository in
  let request i : Solver.request =
    let name, _, _ = List.nth Fixture.packages (i * 7 mod List.length Fixture.packages) in
    { package = name; ocaml = List.nth [ None; Some "5.4.0"; Some "4.14.2" ] (i mod 3) }
  in
  for i = 0 to 99 do
    let request = request i in
    let fresh = answer (Solver.make repository) request in
    Alcotest.(check string) request.package fresh (answer solver request)
  done

(* Several workers ask for the same packages first. *)
let in_parallel root () =
  let repository = Repository.load (Opam root) in
  let answer _ = solve repository "app" ~ocaml:"5.4.0" in
  let all = Muster.Parallel.List.map answer (List.init 64 Fun.id) in
  List.iter (Alcotest.(check string) "app" "app.1.0 lib.2.1 ocaml.5.4.0 right.1") all

(* {2 Debian} *)

let index =
  {|Package: shell
Version: 2
Architecture: amd64
Depends: libc (>= 2), editor | pager

Package: shell
Version: 1
Architecture: amd64

Package: libc
Version: 2.36
Architecture: amd64
Breaks: old-tool (<< 5)

Package: libc
Version: 9
Architecture: i386

Package: vim
Version: 2:9.1
Architecture: amd64
Provides: editor, vi (= 9)
Conflicts: editor

Package: nano
Version: 8
Architecture: all
Provides: editor
Conflicts: editor

Package: both
Version: 1
Architecture: all
Depends: vim, nano

Package: old-tool
Version: 4
Architecture: all
Depends: libc

Package: typing
Version: 1
Architecture: all
Depends: vi (>= 8)

Package: typing-more
Version: 1
Architecture: all
Depends: vi (>= 10) | editor (>= 1)
|}

let debian () =
  let file = Filename.concat (Fixture.folder ()) "Packages" in
  Fixture.write file index;
  let repository = Repository.load (Debian [ file; file ]) in
  check repository "shell" "libc=2.36 nano=8 shell=2";
  check repository "typing" "typing=1 vim=2:9.1";
  check repository "typing-more" "no solution";
  check repository "both" "no solution";
  check repository "old-tool" "no solution";
  check repository "editor" "nano=8"

let () =
  let root = Fixture.tree () in
  let repository = Repository.load (Opam root) in
  Alcotest.run "solver"
    [
      ( "opam",
        [
          case "the best versions that fit together" (answers repository);
          case "an archive" (archive root);
          case "what cannot be read" unreadable;
          case "what a solver keeps" (keeps_nothing_wrong repository);
          case "several at once" (in_parallel root);
        ] );
      ("debian", [ case "virtual packages, conflicts, architectures" debian ]);
    ]
