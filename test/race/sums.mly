/* Sums of numbers, for a parser with the state of Stdlib.Parsing. */

%token <int> NUMBER
%token PLUS END
%start sum
%type <int> sum

%%

sum:
  | NUMBER END { $1 }
  | NUMBER PLUS sum { $1 + $3 }
