export interface FileProblem {
  readonly file: string;
  readonly line: number;
  readonly problem: string;
}

/** A name of the file for a message: quoted and short. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
}
