import { isDeepStrictEqual } from 'node:util';
import { PosternApiError } from '../../../client/call-errors.ts';
import { queryString } from '../../../client/fill-path.ts';
import type { FileProblem } from '../../../control/configuration-file/format.ts';
import { installedObjects } from '../../../control/configuration-file/installed-objects.ts';
import { type Claim, makePlan, type Plan } from '../../../control/configuration-file/plan/make-plan.ts';
import {
  type FieldChange,
  type ObjectChange,
  settlePlan,
} from '../../../control/configuration-file/plan/object-change.ts';
import type { NotGiven } from '../../../control/configuration-file/plan/pair-objects.ts';
import type { Configuration } from '../../../control/configuration-file/read-configuration.ts';
import { sectionOf } from '../../../control/configuration-file/sections.ts';
import type { PlacedSecret } from '../../../control/configuration-file/wire-body.ts';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import { printable } from '../output/cell-text.ts';
import type { Color, Painter, Progress } from '../output/terminal.ts';
import { type ApiSender, readInstallation } from './read-installation.ts';

/** Large changesets take the server a while. */
export const CHANGESET_TIMEOUT_MS = 600_000;
/** Codes of a changeset's rejection: the revision moved, or other writers kept changing the same objects. */
export const CONFLICTS: ReadonlySet<string> = new Set([
  'ERR_POSTERN_PRECONDITION_FAILED',
  'ERR_POSTERN_TOO_MANY_CONFLICTS',
]);
const MAX_ATTEMPTS = 5;
const PRECONDITION_FAILED = 412;

export interface PlanRequest {
  readonly configuration: Configuration;
  readonly secrets: ReadonlyMap<PlacedSecret, string>;
  readonly notGiven: NotGiven;
  readonly isPruning: boolean;
  readonly isTakeOver: boolean;
}

export interface PreparedPlan extends Plan {
  readonly revision: number;
  /** Body of the changeset without `dry_run` and `message`. */
  readonly changeset: JsonObject;
  readonly isEmpty: boolean;
}

type Preparation =
  | { readonly plan: PreparedPlan }
  | { readonly problems: readonly FileProblem[] }
  /** The configuration changed each time while it was read. */
  | { readonly moving: true };

/** Compares files with the server, and lets the server check the writes without storing them. */
export async function preparePlan(
  transport: ApiSender,
  request: PlanRequest,
  progress: Pick<Progress, 'report'>,
): Promise<Preparation> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const preparation = await prepareOnce(transport, request, progress);
    if (preparation !== null) return preparation;
  }
  return { moving: true };
}

async function prepareOnce(
  transport: ApiSender,
  request: PlanRequest,
  progress: Pick<Progress, 'report'>,
): Promise<Preparation | null> {
  const { configuration, secrets, notGiven, isPruning } = request;
  const claims = configuration.owner === null ? [] : await readClaims(transport, configuration.owner);
  const installation = await readInstallation(transport, {
    sections: sectionsOf(configuration, isPruning ? claims : []),
    onProgress: (count) => progress.report(`read ${count} objects of the server`),
  });
  if (installation === null) return { moving: true };
  // What is removed must still belong to the owner at the revision that was read.
  if (isPruning && configuration.owner !== null) {
    const now = await readClaims(transport, configuration.owner);
    if (!isDeepStrictEqual(now, claims)) return null;
  }
  const { revision } = installation;
  const plan = makePlan({
    objects: configuration.objects,
    missing: configuration.missing,
    installed: installedObjects(installation.documents),
    secretValue: (secret) => secrets.get(secret) ?? '',
    notGiven,
    claims,
    isPruning,
  });
  if (plan.problems.length > 0) return { problems: plan.problems };
  if (plan.operations.length === 0 && (configuration.owner === null || plan.areClaimsKnown)) {
    return { plan: { ...plan, revision, changeset: { operations: [] }, isEmpty: true } };
  }
  progress.report(`checking ${plan.operations.length} operations`);
  const changeset = changesetOf(plan, revision, request);
  try {
    const answer = await transport.send(
      { method: 'POST', path: '/changesets', body: { ...changeset, dry_run: true } },
      { timeoutMs: CHANGESET_TIMEOUT_MS },
    );
    const { results } = JSON.parse(answer.text) as { readonly results: readonly { readonly changed?: boolean }[] };
    const settled = {
      ...plan,
      ...settlePlan(
        plan,
        results.map(({ changed }) => changed),
      ),
    };
    const isEmpty = settled.operations.length === 0 && (configuration.owner === null || plan.areClaimsKnown);
    return { plan: { ...settled, revision, changeset: changesetOf(settled, revision, request), isEmpty } };
  } catch (error) {
    if (error instanceof PosternApiError && error.status === PRECONDITION_FAILED) return null;
    throw error;
  }
}

/** Where the objects are that the plan compares, refers to or removes. */
function sectionsOf({ objects, missing }: Configuration, claims: readonly Claim[]): ReadonlySet<string> {
  const kinds = [...objects.map(({ kind }) => kind.resource.kind), ...claims.map(({ kind }) => kind)];
  return new Set([...missing.map(({ section }) => section), ...kinds.flatMap((kind) => sectionOf(kind) ?? [])]);
}

async function readClaims(transport: ApiSender, owner: string): Promise<readonly Claim[]> {
  const { text } = await transport.send({ method: 'GET', path: `/changesets/claims${queryString({ owner })}` });
  return (JSON.parse(text) as { readonly claims: readonly Claim[] }).claims;
}

function changesetOf(
  { operations, claims }: Plan,
  revision: number,
  { configuration, isTakeOver }: PlanRequest,
): JsonObject {
  const owner = configuration.owner;
  return {
    operations: operations.map(
      ({ method, path, body }): JsonObject => ({ method, path, ...(body !== undefined && { body }) }),
    ),
    expected_revision: revision,
    ...(owner !== null && {
      owner: {
        name: owner,
        claims: claims.map(({ id, name }) => ({ id, name })),
        ...(isTakeOver && { take_over: true }),
      },
    }),
  };
}

const MARKS = { add: '+', change: '~', replace: '±', remove: '-' } as const;
const COLORS: Readonly<Record<ObjectChange['action'], Color>> = {
  add: 'green',
  change: 'yellow',
  replace: 'yellow',
  remove: 'red',
};
const SECRETS = {
  set: 'set (secret)',
  changed: 'another value (secret)',
  removed: 'removed (secret)',
  unknown: 'unknown: this key may not compare secrets; apply sends the value',
} as const;
const MAX_VALUE = 200;

/** The tree of changes: objects, their fields, the objects inside them. */
export function* planLines(changes: readonly ObjectChange[], paint: Painter, indent = ''): Iterable<string> {
  for (const { action, kind, name, fields, children } of changes) {
    const replaced = action === 'replace' ? ' (replaced: it cannot be changed)' : '';
    yield paint(`${indent}${MARKS[action]} ${kind.label} ${printable(name)}${replaced}`, COLORS[action]);
    for (const field of fields) yield `${indent}    ${fieldLine(field, action)}`;
    yield* planLines(children, paint, `${indent}  `);
  }
}

function fieldLine({ path, before, after, secret }: FieldChange, action: ObjectChange['action']): string {
  const name = printable(path);
  if (secret !== undefined) return `${name}: ${SECRETS[secret]}`;
  if (action !== 'change') return `${name}: ${valueText(after)}`;
  if (isModule(before) && after === undefined) return `- ${name}`;
  if (before === undefined) return isModule(after) ? `+ ${name}` : `${name}: ${valueText(after)}`;
  return `${name}: ${valueText(before)} -> ${valueText(after)}`;
}

function isModule(value: JsonValue | undefined): boolean {
  return JSON.stringify(value) === '{}';
}

function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'unset';
  const text = printable(JSON.stringify(value));
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}… (${text.length} characters)` : text;
}

/** `2 added, 1 changed`. */
export function summaryText(changes: readonly ObjectChange[]): string {
  const counts = new Map<ObjectChange['action'], number>();
  const count = (change: ObjectChange): void => {
    const isOnlyAround = change.action === 'change' && change.fields.length === 0;
    if (!isOnlyAround) counts.set(change.action, (counts.get(change.action) ?? 0) + 1);
    if (change.action !== 'remove') for (const child of change.children) count(child);
  };
  for (const change of changes) count(change);
  const names = { add: 'added', change: 'changed', replace: 'replaced', remove: 'removed' } as const;
  return Object.entries(names)
    .flatMap(([action, text]) =>
      counts.has(action as keyof typeof names) ? [`${counts.get(action as keyof typeof names)} ${text}`] : [],
    )
    .join(', ');
}

/** For `-o json`. */
export function changesAsJson(changes: readonly ObjectChange[]): readonly JsonValue[] {
  return changes.map(({ action, kind, name, fields, children }) => ({
    action,
    kind: kind.resource.kind,
    name,
    fields: fields as unknown as JsonValue,
    children: changesAsJson(children),
  }));
}

/** Which object a rejected operation is about: its number says nothing to a reader of the file. */
export function operationHint(error: unknown, changeset: PreparedPlan['changeset']): string | null {
  if (!(error instanceof PosternApiError)) return null;
  const operations = changeset['operations'] as readonly {
    readonly method: string;
    readonly path: string;
    readonly body?: object;
  }[];
  const operation = operations[Number(error.details['operation'] ?? -1)];
  if (operation === undefined) return null;
  const { description, hostports, match, domain, name } = (operation.body ?? {}) as Readonly<Record<string, unknown>>;
  const named = [description, hostports, match, domain, name].find((value) => value !== undefined && value !== '');
  return printable(`${operation.method} ${operation.path}${named === undefined ? '' : ` ${JSON.stringify(named)}`}`);
}
