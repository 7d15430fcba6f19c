/** DEL and the C1 controls: a terminal obeys U+009B as it does ESC "[", and JSON leaves them as they are. */
const CONTROLS = /[\u007f-\u009f]/g;

/**
 * Text whose author may be a stranger, for a terminal or a file that somebody shows there. In JSON, the values stay.
 */
export function terminalSafe(text: string): string {
  return text.replaceAll(CONTROLS, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

/**
 * One line of text whose author may be a stranger, such as a visitor or an agent: it must not control the reader's
 * terminal.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
}

const MAX_SHOWN = 400;

/** Text of a server or program for a message: short, on one line, without control characters. */
export function shownText(text: string): string {
  const line = text
    .slice(0, MAX_SHOWN * 2)
    .replaceAll(/[^\x20-\x7e\u00a0-\uffff]+/g, ' ')
    .trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}

/** Breaks `text` at spaces into lines of at most `width` characters. A longer word gets a line of its own. */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** A word as a shell reads it, in quotes only where it needs them. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
