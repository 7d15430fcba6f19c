/** DEL and the C1 controls: a terminal obeys U+009B as it does ESC "[", and JSON leaves them as they are. */
const CONTROLS = /[\u007f-\u009f]/g;

/** Text whose author may be a stranger, for a terminal or a file that somebody shows there. In JSON, the values stay. */
export function terminalSafe(text: string): string {
  return text.replaceAll(CONTROLS, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

/** One line of text whose author may be a stranger, such as a visitor or an agent: it must not control the reader's terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
}
