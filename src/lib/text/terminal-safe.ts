/** DEL and the C1 controls: a terminal obeys U+009B as it does ESC "[", and JSON leaves them as they are. */
const CONTROLS = /[\u007f-\u009f]/g;

/** Text whose author may be a stranger, for a terminal or a file that somebody shows there. In JSON, the values stay. */
export function terminalSafe(text: string): string {
  return text.replaceAll(CONTROLS, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
