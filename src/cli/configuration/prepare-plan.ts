import { isDeepStrictEqual } from 'node:util';
import { queryString } from '../../client/fill-path.ts';
import { PosternApiError } from '../../client/postern-api-error.ts';

import { installedObjects } from '../../configuration-file/documents.ts';
import type { FileProblem } from '../../configuration-file/file-problem.ts';
import type { NotGiven } from '../../configuration-file/plan/keep-secrets.ts';
import { type Claim, makePlan, type Plan } from '../../configuration-file/plan/make-plan.ts';
import { settlePlan } from '../../configuration-file/plan/settle-plan.ts';
import type { Configuration } from '../../configuration-file/read-configuration.ts';
import { sectionOf } from '../../configuration-file/sections.ts';
import type { PlacedSecret } from '../../configuration-file/wire-body.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Progress } from './progress.ts';
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

export type Preparation =
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
