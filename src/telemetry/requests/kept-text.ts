/**
 * A text that the history may keep, truncated at `maxLength`. A part of a longer text would keep all of that in memory,
 * which a client chose: texts above `asIs` characters are copied.
 */
export function keptText(text: string, asIs: number, maxLength: number): string {
  if (text.length <= asIs) return text;
  // V8 joins texts by copying them, once it needs the characters. A copy through a buffer takes three times as long.
  if (text.length <= maxLength) return `${text} `.slice(0, -1);
  return `${Buffer.from(text.slice(0, maxLength), 'latin1').toString('latin1')}…`;
}
