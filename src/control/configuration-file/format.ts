/** Version of the file's format. */
export const FORMAT_VERSION = 1;
/** Editors look for it beside the file; `postern validate --schema` prints it. */
export const SCHEMA_FILE = 'postern.schema.json';
/** As much as a changeset may have. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** As many writes as a changeset may have. */
export const MAX_OBJECTS = 50_000;
export const OWNER_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';

export interface FileProblem {
  readonly file: string;
  readonly line: number;
  readonly problem: string;
}

/** A name of the file for a message: quoted and short. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
}
