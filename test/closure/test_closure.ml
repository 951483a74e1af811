open Muster_closure

let check = Alcotest.check
let int = Alcotest.int
let strings = Alcotest.(list string)

(* The order of versions *)

(* Older, newer: what Debian Policy 5.6.12 says, and versions of its archive. *)
let ordered =
  [
    ("~~", "~~a");
    ("~~a", "~");
    ("~", "");
    ("", "a");
    ("1.0~beta1~svn1245", "1.0~beta1");
    ("1.0~beta1", "1.0");
    ("1.0", "1.0.1");
    ("1.2.9", "1.2.10");
    ("9", "10");
    ("1.0", "1.0a");
    ("1.0a", "1.0b");
    ("1.0Z", "1.0a");
    ("1.0a", "1.0+");
    ("1.0+", "1.0.");
    ("1.0-1", "1.0-2");
    ("1.0-1", "1.0-1+deb12u1");
    ("1.0-1~bpo12+1", "1.0-1");
    ("1.0-9", "1.0-10");
    ("1.0-1", "1.0.1-0");
    ("1.0-1-1", "1.0-1-2");
    ("1.0", "1.0-1");
    ("1.0-0~1", "1.0");
    ("2.0", "1:1.0");
    ("9:1", "10:0");
    ("1:2-1", "1:10-1");
    ("1:1:5", "1:1:6");
    ("2.7.4+reloaded2-13ubuntu1", "2.7.4+reloaded2-13ubuntu1.1");
    ("99999999999999999999", "100000000000000000000");
  ]

(* A missing number, epoch or revision is 0. *)
let equal_versions =
  [
    ("1.0", "1.0");
    ("1.0", "0:1.0");
    ("1.0", "1.0-0");
    ("1.0-", "1.0-0");
    ("1.02", "1.2");
    ("001", "1");
    ("1.0-01", "1.0-1");
    ("01:1", "1:1");
    ("1.0", "1.");
    ("1.0a", "1.0a0");
  ]

let test_versions () =
  let order expected (a, b) =
    let sign a b = Int.compare (Version.compare a b) 0 in
    check int (Printf.sprintf "%S, %S" a b) expected (sign a b);
    check int (Printf.sprintf "%S, %S" b a) (-expected) (sign b a)
  in
  List.iter (order (-1)) ordered;
  List.iter (order 0) equal_versions

let test_version_spans () =
  let text = "xx1:2.0-1yy 1:2.0-1" in
  let a = Text.span ~start:2 ~stop:9 and b = Text.span ~start:12 ~stop:19 in
  check int "equal parts of one text" 0 (Version.compare_spans text a text b)

(* Stanzas *)

let parse text = Stanza.parse (Stanza.whole text)
let name (stanza : Stanza.t) = Name.to_string stanza.name
let names stanzas = List.map name (Array.to_list stanzas)
let value (stanza : Stanza.t) span = Text.sub stanza.name.text span

let contains text part =
  let n = String.length part in
  let here i = String.sub text i n = part in
  let rec go i = i + n <= String.length text && (here i || go (i + 1)) in
  go 0

let check_malformed ~line ~mentions text f =
  match f text with
  | _ -> Alcotest.failf "%S: nothing was raised" text
  | exception Text.Malformed { text = where; at; reason } ->
    check int (Printf.sprintf "%S: line" text) line (Text.line_of where at);
    let what = Printf.sprintf "%S: %S mentions %S" text reason mentions in
    check Alcotest.bool what true (contains reason mentions)

let test_fields () =
  let text =
    "Package: a\n\
     Version: 1:2-3\n\
     Installed-Size: 42\n\
     Architecture: amd64\n\
     Tag: x,\n\
    \ y\n\
     Pre-Depends: b\n\
     Depends: c\n\
     Provides: d\n\
     Description: Package: z\n\n\
     PACKAGE:e\n\
     version:1"
  in
  match parse text with
  | [| a; e |] ->
    let spans = [ a.version; a.architecture; a.pre_depends; a.depends; a.provides ] in
    check strings "values"
      [ "a"; "1:2-3"; "amd64"; "b"; "c"; "d" ]
      (name a :: List.map (value a) spans);
    check int "size" 42 a.size;
    check strings "case and blanks do not matter" [ "e"; "1"; "" ]
      [ name e; value e e.version; value e e.depends ];
    check int "no size" 0 e.size
  | stanzas -> Alcotest.failf "%d stanzas" (Array.length stanzas)

let test_continuation () =
  let depends = "b,\n c |\n\td (>= 1)," in
  let others = "Version: 1\nTag: t,\n Depends: no\n" in
  let text = "Package: a\nDepends: " ^ depends ^ "\n" ^ others in
  match parse text with
  | [| a |] -> check Alcotest.string "value" depends (value a a.depends)
  | stanzas -> Alcotest.failf "%d stanzas" (Array.length stanzas)

let test_layout () =
  let stanza = "Package: a\nVersion: 1\n" in
  let count text = Array.length (parse text) in
  check int "empty" 0 (count "");
  check int "blank lines alone" 0 (count "\n\n \n");
  check int "blank lines around" 2 (count ("\n\n" ^ stanza ^ "\n\n\n" ^ stanza ^ "\n\n"));
  check int "a line of spaces parts too" 2 (count (stanza ^ " \t\n" ^ stanza));
  check int "no line end" 1 (count "Package: a\nVersion: 1");
  check strings "line ends of DOS" [ "a"; "b" ]
    (names (parse "Package: a\r\nVersion: 1\r\n\r\nPackage: b\r\nVersion: 1\r\n"))

let test_malformed () =
  let good = "Package: a\nVersion: 1\n\n" in
  let bad ~line ~mentions text = check_malformed ~line ~mentions text parse in
  bad ~line:5 ~mentions:"nonsense" (good ^ "Package: b\nnonsense\n");
  bad ~line:4 ~mentions:"no Package" (good ^ "Version: 1\n");
  bad ~line:4 ~mentions:"no Version" (good ^ "Package: b\nDepends: c\n");
  bad ~line:4 ~mentions:"continuation" (good ^ " Package: b\n");
  bad ~line:3 ~mentions:"twice" "Package: a\nVersion: 1\nPackage: b\n";
  bad ~line:3 ~mentions:"Installed-Size" "Package: a\nVersion: 1\nInstalled-Size: big\n";
  List.iter
    (fun size ->
      bad ~line:3 ~mentions:"Installed-Size" ("Package: a\nVersion: 1\nInstalled-Size: " ^ size))
    [ "0x10"; "1_0"; "-1"; "+1"; "1 2" ];
  bad ~line:3 ~mentions:"Installed-Size"
    (Printf.sprintf "Package: a\nVersion: 1\nInstalled-Size: %d\n" max_int);
  bad ~line:1 ~mentions:"found" "\x7fELF\x00\x01\n"

let test_cut () =
  let text = Generate.index ~packages:200 in
  let whole = parse text in
  let check_size size =
    let chunks = Stanza.cut ~size text in
    let stanzas = Array.concat (List.map Stanza.parse (Array.to_list chunks)) in
    check strings (Printf.sprintf "chunks of %d bytes" size) (names whole) (names stanzas)
  in
  List.iter check_size [ 1; 10; 500; 4096; 1_000_000 ];
  check int "small chunks hold a stanza each" (Array.length whole)
    (Array.length (Stanza.cut ~size:1 text))

(* Dependencies *)

(* A stanza from its name, version and other lines. *)
let stanza ?(version = "1") name lines =
  String.concat "\n" (("Package: " ^ name) :: ("Version: " ^ version) :: lines) ^ "\n"

let index stanzas = String.concat "\n" stanzas
let answer text = Sequential.run (Meter.create "test") [ text ]

let number (answer : Answer.t) wanted =
  let rec go p = if name answer.packages.(p) = wanted then p else go (p + 1) in
  go 0

let targets (answer : Answer.t) package =
  let node = answer.graph.(number answer package) in
  List.map (fun p -> name answer.packages.(p)) (Array.to_list node.targets)

(* Checks what package [a] depends on, with that field among those stanzas. *)
let check_depends what ~field ~among ~unmet expected =
  let answer = answer (index (among @ [ stanza "a" [ "Depends: " ^ field ] ])) in
  check strings what expected (targets answer "a");
  check int (what ^ ": unmet") unmet answer.graph.(number answer "a").unmet

let b = stanza "b" ~version:"2.0-1" []
let c = stanza "c" []

let test_alternatives () =
  let among = [ b; c ] in
  check_depends "the first" ~field:"b | c" ~among ~unmet:0 [ "b" ];
  check_depends "the first there is" ~field:"x | c | b" ~among ~unmet:0 [ "c" ];
  check_depends "the first that fits" ~field:"b (>> 3) | c" ~among ~unmet:0 [ "c" ];
  check_depends "none" ~field:"x | y, c" ~among ~unmet:1 [ "c" ];
  check_depends "each once" ~field:"b, c, b (>= 1), x | b" ~among ~unmet:0 [ "b"; "c" ];
  check_depends "blanks and empty clauses" ~field:" b ,, c( >=1 ) , " ~among ~unmet:0 [ "b"; "c" ]

let test_bounds () =
  let check_bound (bound, fits) =
    let expected = if fits then [ "b" ] else [] in
    let unmet = if fits then 0 else 1 in
    let field = Printf.sprintf "b (%s)" bound in
    check_depends bound ~field ~among:[ b ] ~unmet expected
  in
  List.iter check_bound
    [
      ("<< 2.0-1", false);
      ("<< 2.0-2", true);
      ("<= 2.0-1", true);
      ("<= 2.0-1~", false);
      ("= 2.0-1", true);
      ("= 0:2.0-01", true);
      ("= 2.0", false);
      (">= 2.0-1", true);
      (">= 2.0-1.1", false);
      (">> 2.0", true);
      (">> 2.0-1", false);
      ("< 2.0-1", true);
      ("> 2.0-1", true);
      (">= 1:0", false);
    ]

let test_qualifiers () =
  let among = [ stanza "b" [ "Architecture: amd64" ]; stanza "c" [ "Architecture: all" ] ] in
  check_depends "any" ~field:"b:any (>= 1), c:native" ~among ~unmet:0 [ "b"; "c" ];
  check_depends "the same" ~field:"b:amd64, c:amd64" ~among ~unmet:0 [ "b"; "c" ];
  check_depends "another" ~field:"b:i386" ~among ~unmet:1 []

let test_virtual () =
  let plain = stanza "p" [ "Provides: v, w (= 3)" ] in
  let other = stanza "q" [ "Provides: v (= 1),\n w (= 5), b (= 9)" ] in
  let among = [ plain; other; b ] in
  check_depends "the first that provides it" ~field:"v" ~among ~unmet:0 [ "p" ];
  check_depends "no version meets no bound" ~field:"v (>= 0)" ~among ~unmet:0 [ "q" ];
  check_depends "the first whose version fits" ~field:"w (>> 3)" ~among ~unmet:0 [ "q" ];
  check_depends "no version fits" ~field:"w (>= 6)" ~among ~unmet:1 [];
  check_depends "a package before what provides it" ~field:"b" ~among ~unmet:0 [ "b" ];
  check_depends "where the package is too old" ~field:"b (>= 8)" ~among ~unmet:0 [ "q" ];
  check_depends "packages before virtual ones" ~field:"v | b" ~among ~unmet:0 [ "b" ]

let test_malformed_dependencies () =
  let bad field mentions =
    let text = index [ b; stanza "a" [ "Depends: c,\n " ^ field ] ] in
    check_malformed ~line:7 ~mentions text answer
  in
  bad "b (>= 1" "bad dependency";
  bad "b 1" "bad dependency";
  bad "b (<= 9) garbage)" "bad version";
  bad "b (>= 1) (<< 2)" "bad version";
  bad "b: (>= 1)" "architecture";
  bad "b:" "architecture";
  bad "b (=> 1)" "bound";
  bad "b (>=)" "no version";
  bad "b (1)" "bound";
  bad "b | | c" "no package name";
  bad "b |" "no package name"

(* Closures *)

let weights (answer : Answer.t) package =
  let p = number answer package in
  (answer.weight.count.(p), answer.weight.size.(p))

let check_weights answer expected =
  List.iter
    (fun (package, count, size) ->
      check Alcotest.(pair int int) package (count, size) (weights answer package))
    expected

let sized name size depends =
  stanza name [ Printf.sprintf "Installed-Size: %d" size; "Depends: " ^ depends ]

let test_closure () =
  let text =
    index
      [
        sized "top" 1 "left, right";
        sized "left" 10 "base";
        sized "right" 100 "base, gone";
        sized "base" 1000 "";
        sized "round" 1 "about";
        sized "about" 2 "round, base";
        sized "self" 7 "self";
      ]
  in
  check_weights (answer text)
    [
      ("base", 1, 1000);
      ("left", 2, 1010);
      ("top", 4, 1111);
      ("round", 3, 1003);
      ("about", 3, 1003);
      ("self", 1, 7);
    ]

let test_newest () =
  let texts =
    [
      index [ stanza "a" ~version:"1.10" [ "Installed-Size: 2" ]; b ];
      index
        [
          stanza "a" ~version:"1.9" [ "Installed-Size: 1" ];
          stanza "a" ~version:"1.10~rc" [];
          c;
          stanza "a" ~version:"1.10-0" [ "Installed-Size: 3" ];
        ];
    ]
  in
  let answer = Sequential.run (Meter.create "test") texts in
  check strings "by first occurrence" [ "a"; "b"; "c" ] (names answer.packages);
  check int "stanzas" 6 answer.stanzas;
  check_weights answer [ ("a", 1, 2) ]

let test_heaviest () =
  let sizes = [ ("z", 5); ("y", 5); ("x", 9); ("w", 1) ] in
  let answer = answer (index (List.map (fun (name, size) -> sized name size "") sizes)) in
  let named n = List.map (fun p -> name answer.packages.(p)) (Answer.heaviest answer n) in
  check strings "equals by name" [ "x"; "y"; "z" ] (named 3);
  check int "no more than there are" 4 (List.length (named 10))

(* Parallel and sequential *)

let test_equal () =
  let texts = [ Generate.index ~packages:2_000; index [ b; c ] ] in
  let check_times (run : Runs.run) =
    check strings "phases"
      [ "parse"; "merge"; "provide"; "resolve"; "weigh" ]
      (List.map fst run.times)
  in
  let domains = [ 1; 2; 3; 8 ] in
  let answer, runs = Runs.measure ~oversubscribe:true ~domains ~repeat:1 texts in
  check int "packages" 2_002 (Array.length answer.packages);
  check int "runs" 5 (List.length runs);
  List.iter check_times runs

let test_empty () =
  let answer, _ = Runs.measure ~oversubscribe:true ~domains:[ 1; 3 ] ~repeat:2 [ "" ] in
  check int "packages" 0 (Array.length answer.packages)

let test_same_error () =
  let text = Generate.index ~packages:2_000 ^ "\nnonsense\n" in
  let line = Text.line_of text (String.length text - 2) in
  let parallel text =
    Muster.Pool.with_ ~domains:3 ~oversubscribe:true (fun pool ->
        Parallel.run pool (Meter.create "test") [ text ])
  in
  check_malformed ~line ~mentions:"nonsense" text answer;
  check_malformed ~line ~mentions:"nonsense" text parallel

let test_difference () =
  let one = answer (index [ b; sized "a" 1 "b" ]) in
  let differs text = Answer.difference one (answer (index text)) in
  let check_option = check Alcotest.(option string) in
  check_option "equal" None (differs [ b; sized "a" 1 "b" ]);
  check_option "size" (Some "the size of a") (differs [ b; sized "a" 2 "b" ]);
  check_option "graph" (Some "the dependencies of a") (differs [ b; sized "a" 1 "" ]);
  check_option "fewer" (Some "the number of packages") (differs [ b ])

let test_generated () =
  let text = Generate.index ~packages:500 in
  let again = Generate.index ~packages:500 in
  check Alcotest.bool "always the same" true (String.equal text again);
  let answer = answer text in
  check int "packages" 500 (Array.length answer.packages);
  check Alcotest.bool "older versions" true (answer.stanzas > 600);
  check Alcotest.string "none" "" (Generate.index ~packages:0)

let test_counts () =
  let ints = Alcotest.(list int) in
  check ints "few" [ 1; 2; 3 ] (Runs.counts 3);
  check ints "eight" [ 1; 2; 3; 4; 5; 6; 7; 8 ] (Runs.counts 8);
  check ints "many" [ 1; 2; 3; 4; 5; 6; 7; 8; 16; 32; 48 ] (Runs.counts 48);
  check ints "a power" [ 1; 2; 3; 4; 5; 6; 7; 8; 16 ] (Runs.counts 16);
  check int "as many as can be asked for" max_int (List.fold_left max 0 (Runs.counts max_int))

(* More than the runtime has. *)
let test_most () =
  let most = Runs.most ~oversubscribe:true max_int in
  check int "some" 3 (Runs.most ~oversubscribe:true 3);
  check Alcotest.bool "not all" true (most < max_int);
  let _, runs = Runs.measure ~oversubscribe:true ~domains:[ max_int ] ~repeat:1 [ b ] in
  let domains (run : Runs.run) = run.domains in
  check Alcotest.(list (option int)) "runs" [ None; Some most ] (List.map domains runs)

(* Files *)

let with_file ?(suffix = "") content f =
  let path = Filename.temp_file "muster_closure" suffix in
  let write channel = Out_channel.output_string channel content in
  Fun.protect
    ~finally:(fun () -> Sys.remove path)
    (fun () ->
      Out_channel.with_open_bin path write;
      f path)

let check_unreadable ?most ~mentions path =
  match Index.read ?most path with
  | _ -> Alcotest.failf "%s was read" path
  | exception Index.Unreadable { path = named; reason } ->
    check Alcotest.string "path" path named;
    let what = Printf.sprintf "%S mentions %S" reason mentions in
    check Alcotest.bool what true (contains reason mentions);
    check Alcotest.bool "one line" false (contains reason "\n")

let test_read () =
  with_file b (fun path -> check Alcotest.string "plain" b (Index.read path).text);
  with_file "" (fun path -> check Alcotest.string "empty" "" (Index.read path).text);
  check_unreadable ~mentions:"No such file" "/nowhere/Packages";
  check_unreadable ~mentions:"directory" (Filename.get_temp_dir_name ())

let compressed tool text =
  with_file text (fun path ->
      with_file "" (fun packed ->
          let zip =
            Filename.quote_command tool ~stdout:packed ~stderr:Filename.null [ "-c"; path ]
          in
          if Sys.command zip <> 0 then None
          else Some (In_channel.with_open_bin packed In_channel.input_all)))

let gzipped text =
  match compressed "gzip" text with Some packed -> packed | None -> Alcotest.skip ()

let test_read_compressed () =
  let packed = gzipped b in
  let is_read path = check Alcotest.string "gzip" b (Index.read path).text in
  with_file ~suffix:".gz" packed is_read;
  with_file packed is_read;
  with_file "\x1f\x8bnot really" (check_unreadable ~mentions:"gzip")

(* As pbzip2 and cat make them. *)
let test_parts () =
  let check_format (tool, suffix) =
    let check_all first =
      let all = first ^ Option.get (compressed tool c) in
      with_file ~suffix all (fun path -> check Alcotest.string tool (b ^ c) (Index.read path).text)
    in
    Option.iter check_all (compressed tool b)
  in
  List.iter check_format
    [ ("gzip", ".gz"); ("xz", ".xz"); ("zstd", ".zst"); ("lz4", ".lz4"); ("bzip2", ".bz2") ]

let test_too_long () =
  let mentions = "more than 1000 bytes" and most = 1_000 in
  let ample = String.make 1_000 'x' in
  with_file ample (fun path -> check Alcotest.string "ample" ample (Index.read ~most path).text);
  with_file (ample ^ "x") (check_unreadable ~mentions ~most);
  if Sys.file_exists "/dev/zero" then check_unreadable ~mentions:"no text" "/dev/zero";
  (* Much more than a pipe holds: the tool is cut off, too. *)
  with_file (gzipped (String.make 1_000_000 'x')) (check_unreadable ~mentions ~most)

let test_cut_off () =
  let packed = gzipped (Generate.index ~packages:2_000) in
  let half = String.sub packed 0 (String.length packed / 2) in
  with_file ~suffix:".gz" half (check_unreadable ~mentions:"gzip");
  with_file half (check_unreadable ~mentions:"gzip")

(* [f] with a pipe as its standard input, from which that text comes. *)
let with_input text f =
  if not (Sys.file_exists "/dev/stdin") then Alcotest.skip ();
  let before = Unix.dup ~cloexec:true Unix.stdin in
  let from_us, to_it = Unix.pipe ~cloexec:true () in
  ignore (Unix.write_substring to_it text 0 (String.length text));
  Unix.close to_it;
  Unix.dup2 from_us Unix.stdin;
  Unix.close from_us;
  let finally () =
    Unix.dup2 before Unix.stdin;
    Unix.close before
  in
  Fun.protect ~finally (fun () -> f "/dev/stdin")

(* The file gets the number of standard input, as whose the tool reads it. *)
let test_read_without_input () =
  let packed = gzipped b in
  let before = Unix.dup ~cloexec:true Unix.stdin in
  Unix.close Unix.stdin;
  let finally () =
    Unix.dup2 before Unix.stdin;
    Unix.close before
  in
  Fun.protect ~finally (fun () ->
      with_file packed (fun path -> check Alcotest.string "gzip" b (Index.read path).text))

let test_read_pipe () =
  with_input b (fun path -> check Alcotest.string "plain" b (Index.read path).text);
  with_input (gzipped b) (check_unreadable ~mentions:"only once")

let exit_status arguments =
  Cmdliner.Cmd.eval' ~argv:(Array.of_list ("closure" :: arguments)) Command.cmd

let test_command () =
  let small = [ "--domains=3"; "--oversubscribe"; "--repeat=1"; "--top=3" ] in
  check int "generated" 0 (exit_status ("--generate=300" :: small));
  check int "no packages" 0 (exit_status ("--generate=0" :: small));
  check int "no such file" 2 (exit_status [ "--index=/nowhere/Packages" ]);
  with_file "Package\n" (fun path -> check int "no index" 2 (exit_status [ "--index"; path ]));
  with_file
    (index [ b; c ])
    (fun path ->
      let twice = [ "--index"; path; "--index"; path ] in
      check int "two files" 0 (exit_status (twice @ small)));
  let refused arguments =
    let what = String.concat " " arguments in
    check int what Cmdliner.Cmd.Exit.cli_error (exit_status arguments)
  in
  List.iter refused
    [
      [ "--domains=0" ];
      [ "--generate=-1" ];
      [ Printf.sprintf "--generate=%d" max_int ];
      [ "--index=/dev/null"; "--generate=3" ];
    ]

let () =
  let case name f = Alcotest.test_case name `Quick f in
  Alcotest.run "closure"
    [
      ("version", [ case "order" test_versions; case "parts of a text" test_version_spans ]);
      ( "stanza",
        [
          case "fields" test_fields;
          case "continuation lines" test_continuation;
          case "blank lines" test_layout;
          case "malformed" test_malformed;
          case "cut" test_cut;
        ] );
      ( "dependencies",
        [
          case "alternatives" test_alternatives;
          case "version bounds" test_bounds;
          case "architectures" test_qualifiers;
          case "virtual packages" test_virtual;
          case "malformed" test_malformed_dependencies;
        ] );
      ( "closure",
        [
          case "shared, round, missing, self" test_closure;
          case "newest version" test_newest;
          case "heaviest" test_heaviest;
        ] );
      ( "parallel",
        [
          case "equal to sequential" test_equal;
          case "empty index" test_empty;
          case "the same error" test_same_error;
          case "a difference is found" test_difference;
        ] );
      ( "program",
        [
          case "generated index" test_generated;
          case "numbers of domains" test_counts;
          case "no more domains than there are" test_most;
          case "reading" test_read;
          case "reading compressed" test_read_compressed;
          case "a file that is too long" test_too_long;
          case "a file that is cut off" test_cut_off;
          case "a file of several parts" test_parts;
          case "reading a pipe" test_read_pipe;
          case "reading without standard input" test_read_without_input;
          case "command line" test_command;
        ] );
    ]
