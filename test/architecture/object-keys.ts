/**
 * Keys of the object literals right after a match of `before`, including those in spreads such as `...(isOn && { key
 * })`.
 */
export function keysOfObjects(text: string, before: RegExp): string[] {
  return Array.from(text.matchAll(before.global ? before : new RegExp(before.source, 'gy')), (match) => {
    const start = match.index + match[0].length;
    return text[start] === '{' ? keysAt(text, start) : [];
  }).flat();
}

function keysAt(text: string, start: number): string[] {
  const keys: string[] = [];
  for (const entry of entriesOf(text.slice(start + 1, endOf(text, start)))) {
    const key = /^(?:'([^']+)'|(\w+))\s*(?::|$)/.exec(entry);
    if (key !== null) keys.push(key[1] ?? (key[2] as string));
    else if (entry.startsWith('...') && entry.includes('{')) keys.push(...keysAt(entry, entry.indexOf('{')));
  }
  return keys;
}

/** The text between commas outside of brackets and strings. */
function entriesOf(inner: string): string[] {
  const entries: string[] = [];
  let from = 0;
  for (let at = 0; at <= inner.length; at += 1) {
    if (at === inner.length || inner[at] === ',') {
      entries.push(
        inner
          .slice(from, at)
          .replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')
          .trim(),
      );
      from = at + 1;
    } else at = endOf(inner, at);
  }
  return entries.filter((entry) => entry !== '');
}

/** The end of what starts here: the closing bracket, quote or end of a comment; the same position for anything else. */
function endOf(text: string, start: number): number {
  const first = text[start] as string;
  if (text.startsWith('//', start)) return text.indexOf('\n', start);
  if (text.startsWith('/*', start)) return text.indexOf('*/', start) + 1;
  if (`'"\``.includes(first)) {
    for (let at = start + 1; at < text.length; at += 1) {
      if (text[at] === '\\') at += 1;
      else if (text[at] === first) return at;
    }
    return text.length;
  }
  if (!'([{'.includes(first)) return start;
  for (let at = start + 1; at < text.length; at += 1) {
    if (')]}'.includes(text[at] as string)) return at;
    at = endOf(text, at);
  }
  return text.length;
}
