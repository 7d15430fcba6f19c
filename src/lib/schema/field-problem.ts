/** What is wrong with one field of an input, in words that say what to send instead. Never carries the value: it may be a secret. */
export interface FieldProblem {
  /** JSON pointer of the field, `""` for the body itself. */
  readonly path: string;
  readonly message: string;
}

export function fieldName(path: string): string {
  return path.split('/').slice(1).map(unescapePointer).join('.');
}

export function pointerTo(parent: string, name: string): string {
  return `${parent}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function unescapePointer(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}
