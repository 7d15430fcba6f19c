/** For fields that take a text, a number or a boolean: what reads as JSON is that, anything else is text. */
export function looseValue(text: string): unknown {
  if (/^(true|false|-?\d+(\.\d+)?)$/.test(text)) return JSON.parse(text);
  return text;
}

export function looseText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
