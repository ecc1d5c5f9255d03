# Expected results that do not come from cel-python; read by generate.py.

NO_OVERLOAD = "the specification has no such overload"
OVERRIDES |= {
    "1 + 1u": (ERROR, NO_OVERLOAD + ": kinds of numbers do not mix in arithmetic"),
    "'a' in 'abc'": (ERROR, NO_OVERLOAD),
    "[1][-1]": (ERROR, "indices start at 0; cel-python lets Python count from the end"),
    "size(null)": (ERROR, NO_OVERLOAD),
    "string(true)": ("true", "cel-python prints Python's True"),
    "[1, 2, 3].map(x, x > 1, x * 10)": ([20, 30], "cel-python lacks the three-argument map"),
    "message.tools.map(t, has(t.tags), t.tags)": ([["a", "b"], []], "cel-python lacks the three-argument map"),
    "message.words.map(w, size(w) > 3, w)": (["apple", "cherry"], "cel-python lacks the three-argument map"),
    "'abc'.exists(c, c == 'a')": (ERROR, "macros range over lists and maps"),
    "message.count == 3.0": (True, "numbers compare across kinds"),
    "message.i == 5.0": (True, "numbers compare across kinds"),
    "message.whole == 5": (True, "numbers compare across kinds"),
    "message.i == message.whole": (True, "numbers compare across kinds"),
    "message.name == 5": (False, "values of unrelated types are unequal, not an error"),
    "has(message.nonexistent.field)": (ERROR, "has() tests the last field; its operand is evaluated as usual"),
    "has(message.nextCursor.x)": (ERROR, "null has no fields to test"),
    "message.name[0]": (ERROR, NO_OVERLOAD),
}

KINDS = "numbers of different kinds compare exactly"
STRINGS = "string extension library, positions by code point"
LISTS = "list extension library"
SYNTAX = "grammar"
for name, why, block in [
    ("numbers", KINDS, """
5 == 5.0 => true
5 > 3.5 => true
5 == 5u => true
5u < 5.5 => true
-1 < 0u => true
18446744073709551615u > 3 => true
18446744073709551615u > -1.5 => true
9007199254740993 == 9007199254740992.0 => false
9007199254740993 > 9007199254740992.0 => true
9007199254740992 == 9007199254740992.0 => true
message.big != 9007199254740992.0 => true
18446744073709551615u < 18446744073709551616.0 => true
9223372036854775807 < 9223372036854775808.0 => true
[1, 2.0, 3u] == [1.0, 2, 3] => true
{1: 'a'} == {1u: 'a'} => true
{1: 'a'}[1.0] => "a"
{1: 'a', 1u: 'b'} => error
2.0 in [1, 2] => true
1u in {1: 2} => true
[10, 20][1.0] => 20
[10, 20][1u] => 20
[10, 20][0.5] => error
0.0 / 0.0 == 0.0 / 0.0 => false
1 < 0.0 / 0.0 => false
1.0 / 0.0 => error
1 == 'a' => false
1 != 'a' => true
null == 0 => false
[] == {} => false
true == 1 => false
[1] == ['a'] => false
null in [null] => true
message.mixed.exists(x, x == 2) => true
message.mixed.filter(x, type(x) == string) => ["3"]
message.i + 1.0 => error
message.i + 1u => error
!!true => true
!!1 => error
---3 => -3
- - 'a' => error
- 9223372036854775808 => -9223372036854775808
9223372036854775808 => error
--9223372036854775808 => error
"""),
    ("text", STRINGS, """
message.s.lowerAscii() => "hello, world"
'ÉA'.lowerAscii() => "Éa"
message.e.upperAscii() => "é"
message.s.upperAscii().contains('WORLD') => true
message.emoji.charAt(1) => "😀"
message.emoji.charAt(3) => ""
message.emoji.charAt(4) => error
message.emoji.charAt(-1) => error
message.emoji.indexOf('b') => 2
message.emoji.indexOf('z') => -1
message.emoji.indexOf('') => 0
'hello hello'.indexOf('hello', 1) => 6
'hello'.indexOf('l', 9) => error
'hello hello'.lastIndexOf('hello') => 6
'hello hello'.lastIndexOf('hello', 5) => 0
'hello'.lastIndexOf('') => 5
'é😀é'.lastIndexOf('é', 1) => 0
'é😀é'.lastIndexOf('é') => 2
message.emoji.substring(1) => "😀b"
message.emoji.substring(1, 2) => "😀"
message.emoji.substring(0, 0) => ""
message.emoji.substring(2, 1) => error
message.emoji.substring(0, 9) => error
'hello'.replace('l', 'L') => "heLLo"
'hello'.replace('l', 'L', 1) => "heLlo"
'hello'.replace('l', 'L', 0) => "hello"
'hello'.replace('l', 'L', -1) => "heLLo"
'ab'.replace('', '-') => "-a-b-"
'a,b,c'.split(',') => ["a", "b", "c"]
'a,b,c'.split(',', 2) => ["a", "b,c"]
'a,b,c'.split(',', 1) => ["a,b,c"]
'a,b,c'.split(',', 0) => []
'a,b,c'.split(',', -1) => ["a", "b", "c"]
'aé😀'.split('') => ["a", "é", "😀"]
''.split('') => []
''.split(',') => [""]
message.multi.split('\\n').size() => 2
message.multi.lowerAscii().split('\\n')[1] => "line two"
'  a b '.trim() => "a b"
'   '.trim() => ""
message.words.join() => "applebobcherry"
message.words.join(', ') => "apple, bob, cherry"
[1].join() => error
'abé'.reverse() => "éba"
1.lowerAscii() => error
'a'.replace(1, 2) => error
(message.s + message.e).substring(12) => "é"
"""),
    ("text", LISTS, """
[1, 2, 3, 4].slice(1, 3) => [2, 3]
message.words.slice(0, 1) => ["apple"]
[1].slice(0, 2) => error
[[1], [2, [3]], 4].flatten() => [1, 2, [3], 4]
[3, 1, 2].sort() => [1, 2, 3]
['b', 'a'].sort() => ["a", "b"]
[2, 1.5, 1u].sort() => [1, 1.5, 2]
[1, 'a'].sort() => error
[0.0 / 0.0, 1.0].sort() => error
[1, 1.0, 2, 1u].distinct() => [1, 2]
[1, 2].reverse() => [2, 1]
"""),
    ("call", SYNTAX, """
message.arguments.in => error
message.null => error
message.arguments.?path => error
message.`a-b` => error
true ? false ? 1 : 2 : 3 => error
true ? (false ? 1 : 2) : 3 => 2
[1, 2,] => [1, 2]
{'a': 1,} => {"a": 1}
size([1,],) => error
size([1,]) => 1
.message.id => 7
[1].map(message, .message.id) => [7]
[1].map(message, message) => [1]
[1].all(x.y, true) => error
[1].all(x, true, true) => error
has(message) => error
has(message['name']) => error
if => error
1 +  => error
(1 => error
[1 => error
'abc => error
'a\\q' => error
1 = 1 => error
a & b => error
// only a comment => error
1 // one => 1
b'\\u00e9' == b'\\xc3\\xa9' => error
b'é' == b'\\xc3\\xa9' => true
1.5u => error
message.arguments{} => error
foo(1) => error
foo(1) || true => true
math.greatest(1, 2) => error
'a'.foo() => error
message.name.matches('(') => error
message.name.matches('re' + '(') => error
message.name.matches('^re' + 'ad') => true
bool('1') => true
string(100.0) => "100"
string(1e30) => "1e30"
string(timestamp('2024-01-01T00:00:00.250Z')) => "2024-01-01T00:00:00.25Z"
timestamp('2024-01-01T23:30:00Z').getHours('+02:00') => 1
timestamp('2024-01-01T23:30:00Z').getDate('+02:00') => 2
timestamp('2024-01-01T23:30:00Z').getHours('Europe/Paris') => error
timestamp(0) == timestamp('1970-01-01T00:00:00Z') => true
int(timestamp('1970-01-01T00:01:00Z')) => 60
duration('1.5s').getMilliseconds() => 500
duration('-1.5s') => "-1.5s"
duration('1h').getFullYear() => error
type(1) => error
"""),
]:
    for line in block.strip().splitlines():
        expression, _, expected = line.rpartition(" => ")
        EXTENSIONS.append((name, expression, ERROR if expected == "error" else json.loads(expected), why))
