const BLOCK = 0x1000;
/**
 * Blocks of planes 0 and 1, by their first digits. The others are private or completely assigned to CJK and Hangul,
 * and Unicode never changes the forms of an assigned character.
 */
const BLOCKS: readonly number[] = [
  0x0, 0x1, 0x2, 0x3, 0xa, 0xf, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d,
  0x1e, 0x1f,
];
const LINE_END = 0x0a;

/** The forms of each block that a path has had a character of. */
const formsByBlock = new Map<number, ReadonlyMap<string, string>>();

/**
 * What a character in UTF-8, with one byte per character, stands for if Unicode considers it compatible with ASCII
 * (NFKC), such as a full-width letter. From a table, because normalize() for each character of a long path takes
 * milliseconds.
 */
export function asciiForm(bytes: string): string | undefined {
  const block = Math.floor(codeIn(bytes) / BLOCK);
  if (!BLOCKS.includes(block)) return undefined;
  let forms = formsByBlock.get(block);
  if (forms === undefined) {
    forms = new Map(formsOf(block * BLOCK));
    formsByBlock.set(block, forms);
  }
  return forms.get(bytes);
}

/** The code of two, three or four bytes, also of an overlong form. */
function codeIn(bytes: string): number {
  let code = bytes.charCodeAt(0) & (0xff >> (bytes.length + 1));
  for (let at = 1; at < bytes.length; at += 1) code = (code << 6) | (bytes.charCodeAt(at) & 0x3f);
  return code;
}

/**
 * A whole block is normalized as lines, and its codes are compared one by one: five times faster than a string and an
 * expression per character. All blocks take each process and thread 30 ms of CPU, one block 1 to 5 ms. No character
 * combines with a line end.
 */
function formsOf(first: number): (readonly [string, string])[] {
  let lines = '';
  for (let code = first; code < first + BLOCK; code += 1)
    lines += code < 0x80 ? '\n' : `${String.fromCodePoint(code)}\n`;
  const normalized = lines.normalize('NFKC');
  const forms: (readonly [string, string])[] = [];
  let code = first;
  let start = 0;
  let isAscii = true;
  for (let at = 0; at < normalized.length; at += 1) {
    const unit = normalized.charCodeAt(at);
    if (unit !== LINE_END) {
      isAscii &&= unit >= 0x20 && unit <= 0x7e;
      continue;
    }
    if (isAscii && at > start) forms.push([bytesOf(String.fromCodePoint(code)), normalized.slice(start, at)]);
    code += 1;
    start = at + 1;
    isAscii = true;
  }
  return forms;
}

function bytesOf(character: string): string {
  return Buffer.from(character).toString('latin1');
}

/** A legitimate path does not have more readings than this, and each reading costs time. */
const MAX_READINGS = 16;

/**
 * Total over all readings. Bounds the work on one request: 16 readings of a path of 32 KB would take tens of
 * milliseconds.
 */
const MAX_CHARACTERS = 65_536;

/** No step below changes such a key. A dot is allowed only inside a name. */
const PLAIN = /^(?:[A-Za-z0-9\-_~!$&'()*+,:=@/]|\.(?=[A-Za-z0-9\-_]))*$/;

export function hasOneReading(key: string): boolean {
  return PLAIN.test(key);
}

/**
 * Everything that upstreams may turn a key into by the steps below, in any order and number, including the key itself.
 * Null: too many.
 */
export function readingsOf(key: string): ReadonlySet<string> | null {
  const readings = new Set([key]);
  let characters = 0;
  // The loop also visits readings added while it runs.
  for (const reading of readings) {
    characters += reading.length;
    if (readings.size > MAX_READINGS || characters > MAX_CHARACTERS) return null;
    for (const step of STEPS) readings.add(step(reading));
  }
  return readings;
}

/**
 * Keys have one byte per character, and `%2F` for an escaped slash. Each step makes one kind of change, in linear time:
 * if two changes were combined, one could hide the page that the other leads to.
 */
type Step = (key: string) => string;

/** Decodes once more than the URL was encoded; IIS also supports `%uXXXX`. */
const decoded: Step = (key) => key.replaceAll(/%(?:u([0-9a-f]{4})|([0-9a-f]{2}))/gi, unescaped);

/** Tomcat and others keep escaped slashes. */
const decodedButSlashes: Step = (key) => key.replaceAll(/%(?:u([0-9a-f]{4})|(?!2f)([0-9a-f]{2}))/gi, unescaped);

/** URL parsers drop these (WHATWG URL §4.4). They appear only after repeated decoding. */
const withoutLineEnds: Step = (key) => key.replaceAll(/[\t\n\r]/g, '');

const withoutControls: Step = (key) => key.replaceAll(/[^\x20-\x7e\x80-\xff]/g, '');

/** Tomcat and IIS can be configured to accept `%2F` and, after repeated decoding, `\` as separators. */
const withSlashes: Step = (key) => key.replaceAll(/%2f/gi, '/');
const withoutBackslashes: Step = (key) => key.replaceAll('\\', '/');

/** Tomcat, Jetty and Spring drop `;name=value` from each segment. */
const withoutParameters: Step = (key) => (key.includes(';') ? key.replaceAll(/;[^/]*/g, '') : key);

/**
 * A proxy that forwards a decoded path turns `%3F` into a query (CVE-2024-38474); C ends a string at NUL; old programs
 * treat everything after `;` as parameters, and line-based ones end at a line end.
 */
const CUTS: readonly Step[] = ['?', '#', '\0', ';', '\r', '\n'].map(cutAt);

/** Windows drops trailing dots and spaces of names. */
const withoutTrailingDots: Step = (key) =>
  /[. ](?:\/|$)/.test(key) ? key.split('/').map(withoutDotsAtEnd).join('/') : key;

/** Where trailing spaces are dropped, ".. " becomes "..". */
const withBareDots: Step = (key) =>
  key.includes('/..')
    ? key
        .split('/')
        .map((name) => (/^\.\.[. ]*$/.test(name) ? '..' : name))
        .join('/')
    : key;

/**
 * URL parsers read what follows "//" as a host (WHATWG URL §4.4), also after a prefix that a router has removed:
 * `new URL('//x/admin', base)` is the page /admin.
 */
const withoutAuthority: Step = (key) => (key.includes('//') ? key.replace(/\/{2,}[^/]*/, '') || '/' : key);

const withoutEmptySegments: Step = (key) => key.replaceAll(/\/{2,}/g, '/');

/** RFC 3986 §5.2.4. */
const withoutDotSegments: Step = (key) => {
  if (!/\/\.{1,2}(?:\/|$)/.test(key)) return key;
  const kept: string[] = [];
  const segments = key.slice(1).split('/');
  const last = segments.at(-1);
  for (const segment of segments) {
    if (segment === '..') kept.pop();
    else if (segment !== '.') kept.push(segment);
  }
  if (last === '.' || last === '..') kept.push('');
  return `/${kept.join('/')}`;
};

/** RFC 2279 had forms of five and six bytes. */
const OVERLONG =
  /[\xc0\xc1][\x80-\xbf]|\xe0[\x80-\x9f][\x80-\xbf]|\xf0[\x80-\x8f][\x80-\xbf]{2}|\xf8[\x80-\x87][\x80-\xbf]{3}|\xfc[\x80-\x83][\x80-\xbf]{4}/g;
const CHARACTER = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g;

/** Overlong UTF-8 (RFC 3629 §10), as lax decoders accept it. */
const inShortForm: Step = (key) => key.replaceAll(OVERLONG, shortForm);

/** Replaces characters compatible with ASCII, such as full-width letters, by ASCII. */
const inAscii: Step = (key) => key.replaceAll(CHARACTER, (bytes) => asciiForm(bytes) ?? bytes);

const STEPS: readonly Step[] = [
  inShortForm,
  inAscii,
  decoded,
  decodedButSlashes,
  withoutLineEnds,
  withoutControls,
  withSlashes,
  withoutBackslashes,
  withoutParameters,
  ...CUTS,
  withoutTrailingDots,
  withBareDots,
  withoutAuthority,
  withoutEmptySegments,
  withoutDotSegments,
];

/** A loop from the end: a regular expression would take quadratic time on "......x". */
function withoutDotsAtEnd(name: string): string {
  if (name === '.' || name === '..') return name;
  let end = name.length;
  while (end > 0 && (name[end - 1] === '.' || name[end - 1] === ' ')) end -= 1;
  return name.slice(0, end);
}

function unescaped(_escape: string, unit: string | undefined, byte: string): string {
  const character = String.fromCharCode(Number.parseInt(unit ?? byte, 16));
  return unit === undefined ? character : Buffer.from(character).toString('latin1');
}

function cutAt(end: string): Step {
  return (key) => {
    const at = key.indexOf(end);
    return at > 0 ? key.slice(0, at) : key;
  };
}

/** The first byte contributes bits only in two-byte forms: those of longer ones are zero. */
function shortForm(overlong: string): string {
  let code = overlong.length === 2 ? overlong.charCodeAt(0) & 0x1f : 0;
  for (let at = 1; at < overlong.length; at += 1) code = (code << 6) | (overlong.charCodeAt(at) & 0x3f);
  return code <= 0x10ffff ? Buffer.from(String.fromCodePoint(code)).toString('latin1') : overlong;
}
