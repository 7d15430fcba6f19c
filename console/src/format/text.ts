/** A field of a foreign document as text; anything but text, numbers and booleans is left out. */
export function textAt(document: Readonly<Record<string, unknown>> | null | undefined, name: string): string {
  return textOf(document?.[name]);
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** A field of a form that has the focus of a submit. */
export function submitted(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
}
