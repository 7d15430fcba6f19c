import type { FileObject, MissingName } from '../file-object.ts';
import type { FileProblem } from '../format.ts';
import type { InstalledObject } from '../installed-objects.ts';
import { sections } from '../sections.ts';
import { ChangeBuilder } from './change-builder.ts';
import type { SecretValues } from './field-changes.ts';
import type { ObjectChange, PlannedOperation } from './object-change.ts';
import { keepSecrets, type NotGiven, type Pair, pairObjects } from './pair-objects.ts';

/** What an earlier apply of the owner remembered. */
export interface Claim {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
}

export interface PlanInput {
  readonly objects: readonly FileObject[];
  readonly missing: readonly MissingName[];
  readonly installed: ReadonlyMap<string, readonly InstalledObject[]>;
  readonly secretValue: SecretValues;
  readonly notGiven: NotGiven;
  readonly claims: readonly Claim[];
  readonly isPruning: boolean;
}

export interface PlannedClaim {
  /** An id, or `${N.id}`. */
  readonly id: string;
  readonly name: string;
}

export interface Plan {
  readonly changes: readonly ObjectChange[];
  readonly operations: readonly PlannedOperation[];
  /** Every object of the files. */
  readonly claims: readonly PlannedClaim[];
  /** Whether the server remembers them already. */
  readonly areClaimsKnown: boolean;
  /** Secrets that are not given, and stay as the server has them. */
  readonly kept: readonly FileProblem[];
  readonly problems: readonly FileProblem[];
}

/** The changes that make the server match the files, and the writes that do it. */
export function makePlan(input: PlanInput): Plan {
  const { objects, installed, claims, isPruning } = input;
  const claimed = new Map(claims.map(({ kind, name, id }) => [`${kind}\0${name}`, id]));
  const paired: Pair[] = [];
  const rest: InstalledObject[] = [];
  for (const { key, kinds } of sections) {
    const own = objects.filter(({ kind }) => kinds.includes(kind));
    const pairing = pairObjects(own, installed.get(key) ?? [], ({ kind, name }) =>
      claimed.get(`${kind.resource.kind}\0${name}`),
    );
    // One at a time: an installation may have more objects than a call may have arguments.
    for (const pair of pairing.pairs) paired.push(pair);
    for (const object of pairing.rest) rest.push(object);
  }
  const names = new Map([...installed.values()].flat().map(({ id, name }) => [id, name]));
  const { found, problems: unknown } = findMissing(input);
  const { pairs, kept, ifCreated, problems: unset } = keepSecrets(paired, input.notGiven);
  const problems = [...unknown, ...unset];
  if (problems.length > 0) return { changes: [], operations: [], claims: [], areClaimsKnown: true, kept: [], problems };
  const builder = new ChangeBuilder({ pairs, found, names, secretValue: input.secretValue, ifCreated });
  const owned = new Set(claims.map(({ id }) => id));
  const built = builder.build(isPruning ? rest.filter(({ id }) => owned.has(id)) : []);
  const planned = pairs.map(({ file }) => ({ id: builder.idTextOf(file.id), name: file.name }));
  const known = new Map(claims.map(({ id, name }) => [id, name]));
  return { ...built, kept, claims: planned, areClaimsKnown: planned.every(({ id, name }) => known.get(id) === name) };
}

/** Names that the files use and only the server has. */
function findMissing({ missing, installed }: PlanInput): {
  readonly found: ReadonlyMap<string, string>;
  readonly problems: readonly FileProblem[];
} {
  const found = new Map<string, string>();
  const problems: FileProblem[] = [];
  for (const { section, name, id, file, line, problem } of missing) {
    const object = (installed.get(section) ?? []).find((each) => each.name === name);
    if (object === undefined)
      problems.push({ file, line, problem: `${problem}; the server has none with this name either` });
    else found.set(id, object.id);
  }
  return { found, problems };
}
