export type Style = 'plain' | 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export interface Span {
  readonly text: string;
  readonly style: Style;
}

/** One line of the screen. */
export type StyledLine = readonly Span[];

const CODES: Readonly<Record<Style, string>> = {
  plain: '',
  bold: '\x1b[1m',
  dim: '\x1b[2m',
  red: '\x1b[31m',
  green: '\x1b[32m',
  yellow: '\x1b[33m',
  cyan: '\x1b[36m',
};
const RESET = '\x1b[0m';
const segmenter = new Intl.Segmenter();
/** East Asian wide and full-width characters, and emoji: two cells each on nearly every terminal. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const NARROW_ONLY = /^[\x20-\x7e]*$/;

export function span(text: string, style: Style = 'plain'): Span {
  return { text, style };
}

/** In cells of the terminal. */
export function widthOf(text: string): number {
  if (NARROW_ONLY.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += cells(segment);
  return width;
}

/** Truncated to this width, with "…" in place of the rest. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let left = width - 1;
  for (const { segment } of segmenter.segment(text)) {
    left -= cells(segment);
    if (left < 0) break;
    kept += segment;
  }
  return width < 1 ? '' : `${kept}…`;
}

export function padTo(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** Lines of at most this width, broken at spaces where possible. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const joined = line === '' ? word : `${line} ${word}`;
    if (widthOf(joined) <= width) {
      line = joined;
      continue;
    }
    if (line !== '') lines.push(line);
    const broken = pieces(word, Math.max(2, width));
    lines.push(...broken.slice(0, -1));
    line = broken.at(-1) ?? '';
  }
  return [...lines, line];
}

/** No line is wider than the screen, whatever it contains. */
export function toScreen(line: StyledLine, width: number, hasColor: boolean): string {
  let left = width;
  let text = '';
  for (const { text: given, style } of line) {
    const shown = cut(given, left);
    left -= widthOf(shown);
    text += hasColor && style !== 'plain' && shown !== '' ? `${CODES[style]}${shown}${RESET}` : shown;
  }
  return text;
}

function pieces(text: string, width: number): readonly string[] {
  const found: string[] = [];
  let piece = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    const more = cells(segment);
    if (used + more > width && piece !== '') {
      found.push(piece);
      piece = '';
      used = 0;
    }
    piece += segment;
    used += more;
  }
  return [...found, piece];
}

function cells(segment: string): number {
  return WIDE.test(segment) ? 2 : 1;
}
