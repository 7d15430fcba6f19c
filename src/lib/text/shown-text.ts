const MAX_SHOWN = 400;

/** Text of a server or program for a message: short, on one line, without control characters. */
export function shownText(text: string): string {
  const line = text
    .slice(0, MAX_SHOWN * 2)
    .replaceAll(/[^\x20-\x7e\u00a0-\uffff]+/g, ' ')
    .trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}
