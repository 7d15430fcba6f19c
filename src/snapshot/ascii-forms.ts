/** Planes 0 and 1 contain all of them. */
const LAST_CODE_POINT = 0x1ffff;
const BLOCK = 0x1000;

/**
 * The characters that Unicode considers compatible with ASCII (NFKC), such as full-width letters, keyed by their UTF-8
 * with one byte per character. A table, because normalize() for each character of a long path takes milliseconds.
 */
export const ASCII_FORMS: ReadonlyMap<string, string> = new Map(blocks().flatMap(formsOf));

function blocks(): number[] {
  return Array.from({ length: (LAST_CODE_POINT + 1) / BLOCK }, (_, index) => index * BLOCK);
}

/**
 * One block at a time, as lines: ten times faster than one character at a time. No character combines with a line end.
 */
function formsOf(first: number): (readonly [string, string])[] {
  const characters = Array.from({ length: BLOCK }, (_, offset) => String.fromCodePoint(first + offset));
  if (first === 0) characters.fill('', 0, 0x80);
  const forms = characters.join('\n').normalize('NFKC').split('\n');
  return forms.flatMap((form, offset) => (/^[ -~]+$/.test(form) ? [[bytesOf(characters[offset]), form] as const] : []));
}

function bytesOf(character = ''): string {
  return Buffer.from(character).toString('latin1');
}
