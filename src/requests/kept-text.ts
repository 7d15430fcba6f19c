/**
 * A text that the history may keep, truncated at `maxLength`. A part of a longer text would keep all of that in memory,
 * which a client chose: texts above `asIs` characters are copied.
 */
export function keptText(text: string, asIs: number, maxLength: number): string {
  if (text.length <= asIs) return text;
  const kept = Buffer.from(text.slice(0, maxLength), 'latin1').toString('latin1');
  return text.length > maxLength ? `${kept}…` : kept;
}
