// Records what JavaScript finds: `node javascript.mjs > javascript.json`. The patterns and texts are made up; the flags are those that
// the engine of the rules uses.

const patterns = [
  // Letters, classes and escapes.
  'a.c', 'a\\sb', 'a\\Sb', '[\\s\\S]b', '[^]b', 'x[]y|ab', 'a[^\\S\\n]b', '[\\S\\n]+\\u0062', '\\x61\\u0062', '\\/etc\\/\\w+', 'a\\-b\\_c', '{a}', 'a{,2}', 'a{2,}b',
  '[a-]b', '[\\w-]x', '[\\d-x]', '\\0|\\cA|[\\b]', '\\07|\\8', '(a)\\2', '[\\]\\[^-]+z', 'é', '[à-ö]b', 'ß', '\\bfoo\\b', '\\Boo', '^a|b$', '(?:a|b)*c', 'a+?b', '[^a-z]b',
  '\\u{1F600}x', '[\\u{1F600}-\\u{1F64F}]', '\\p{Lu}b', '\\uD83D\\uDE00x', '(?:\\uDB40[\\uDC00-\\uDC7F]){2,}', '(?im)^b', '(?s)a.b', '(?i)ABC', 'a{2}{', ']b}',
  // Look-ahead.
  'foo(?=bar)', 'foo(?!bar)', 'foo(?![a-z])', 'foo(?!ba?r\\b)', 'foo(?!\\s+to\\b)', 'http://(?!localhost|127\\.)', 'http://(?!local|10\\.)\\S+', 'a(?!b)(?!c)d?',
  'x(?!y)[a-z]{2}', 'x(?!ab|cd)[a-d]+e', 'x(?=[a-z]*\\d)[a-z0-9]{3,}', 'key\\b(?!\\s*=)', '(?:a(?!b)|c(?=d))', '=(?!=)', 'a(?!$)', 'a(?=b|$)', 'foo(?!s?\\b)', '\\w+(?!!)',
  '(?=a)\\w+b', '(?!a)\\w+b', 'a(?:(?!b).)*', 'x(?:y(?!z))?w', 'id(?!\\.pub|_x)', 'q(?!u[aei]{1,2}t)', '"(?!(?:a|bc)")[^"]+"', '(?=.*a)',
  // Look-behind.
  '(?<=foo)bar', '(?<!foo)bar', '(?<![\\w-])run', '(?<!get_)(?<!list_)pay', '(?<!["\'`])\\bdrop', '(?<=a|bb)c', '(?<!!)\\[x\\]', '(?<!^)a', 'x(?<!ax)y', '(?<!\\d)\\d{3}(?!\\d)',
  '(?<![a-z])\\.env', '(?<!no )(?:go|run)(?! away)',
];

const pieces = [
  'a', 'b', 'c', 'ab', 'abc', 'A', 'B', 'x', 'y', 'z', 'xy', 'w', 'd', 'foo', 'FOO', 'bar', 'baz', 'br', 's', ' to', ' ', '\n', '\r', '\u2028', '\u00a0', '\ufeff', '\v', '-', '_', '.', '!', '"', "'", '`',
  '=', '==', '1', '127.', '10.', '123', '1234', 'http://', 'localhost', 'local', 'example', 'key', 'id', '.pub', '_x', 'get_', 'list_', 'pay', 'drop', 'run', 'no go', 'go', 'rerun', ' away', '[x]', '![x]', '.env',
  '/etc/passwd', '{a}', 'a{,2}', 'é', 'É', 'ö', 'ß', '😀', '😀x', '\u{E0041}\u{E0042}', '\0', '\x01', '\b', 'qu', 'quat', 'queit', 'bc', 'cd', 'de', '',
  'a b', 'a\tb', 'aab', 'a-b_c', 'foobar', 'xw', 'xyw', 'xabe', 'xbbe', '"d"', '"bcd"', 'bbc', 'ac', 'x7', '\x07', 'a\x02', '[^z', 'aa{', ']b}',
];

let seed = 7;
const random = (below) => ((seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) >>> 8) % below;
const texts = [...pieces];
for (let count = 0; count < 700; count += 1) {
  texts.push(Array.from({ length: 2 + random(4) }, () => pieces[random(pieces.length)]).join(''));
}

const records = patterns.map((pattern) => {
  const body = pattern.replace(/^\(\?[imsx]+\)/, '');
  const regex = new RegExp(body, body.includes('\\u{') || body.includes('\\p{') ? 'iu' : 'i');
  const found = texts.flatMap((text, at) => (regex.test(text) ? [at] : []));
  return JSON.stringify({ pattern, found });
});
console.log(`{"texts": ${JSON.stringify(texts)},\n"patterns": [\n${records.join(',\n')}\n]}`);
