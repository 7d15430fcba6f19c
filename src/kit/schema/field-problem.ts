/** A problem with one input field, and what to send instead. It never carries the value, which may be a secret. */
export interface FieldProblem {
  /** JSON pointer of the field, `""` for the body itself. */
  readonly path: string;
  readonly message: string;
}

export function fieldName(path: string): string {
  return path.split('/').slice(1).map(unescapePointer).map(shownName).join('.');
}

export function lastName(path: string): string {
  return unescapePointer(path.slice(path.lastIndexOf('/') + 1));
}

/** A client-supplied name is quoted and truncated: it may be empty, blank or as long as the body. */
function shownName(name: string): string {
  return /^[\w-]{1,64}$/.test(name) ? name : JSON.stringify(name.slice(0, 64));
}

export function pointerTo(parent: string, name: string): string {
  return `${parent}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function unescapePointer(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}
