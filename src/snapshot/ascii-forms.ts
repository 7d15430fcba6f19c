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

/**
 * The characters that Unicode considers compatible with ASCII (NFKC), such as full-width letters, keyed by their UTF-8
 * with one byte per character. A table, because normalize() for each character of a long path takes milliseconds.
 */
export const ASCII_FORMS: ReadonlyMap<string, string> = new Map(BLOCKS.flatMap((block) => formsOf(block * BLOCK)));

/**
 * A whole block is normalized as lines, and its codes are compared one by one: five times faster than a string and an
 * expression per character, and every process does this when it starts. No character combines with a line end.
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
