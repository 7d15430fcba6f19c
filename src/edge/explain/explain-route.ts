import type { AssumedPerson } from '../../modules/contract/decides.ts';
import type { Module } from '../../modules/contract/module.ts';
import type { EdgeSnapshot, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import { edgeErrors } from '../errors.ts';
import { ChangedRequest } from '../forwarding/changed-request.ts';
import { forwardedRequest } from '../forwarding/forwarded-request.ts';
import { ExplainedWalk, skipped } from './explained-walk.ts';
import type { ExplainedDecision, Explanation, HypotheticalQuestion } from './explanation.ts';
import type { HypotheticalRequest } from './hypothetical-request.ts';
import { FORBIDDEN_ADDRESS, type PossibleTarget, possibleTargets, type ReachView } from './possible-targets.ts';
import { upstreamChanges } from './upstream-changes.ts';

export interface RouteExplainPorts {
  readonly reach: ReachView;
  readonly modules: readonly Module[];
  /** The newest logins on an edge. */
  readonly lastLogins: (edgeId: string) => Promise<AssumedPerson['logins']>;
}

interface RoutePlace {
  readonly edge: EdgeSnapshot;
  readonly route: RouteSnapshot;
}

type Explained = Pick<Explanation, 'decisions' | 'outcome' | 'upstreamRequest'>;

/** Asks the modules of the matched route, and lists the targets. */
export async function explainRoute(
  request: HypotheticalRequest,
  { edge, route }: RoutePlace,
  question: HypotheticalQuestion,
  { reach, modules, lastLogins }: RouteExplainPorts,
): Promise<Explained> {
  const as = question.as === null ? null : { ...question.as, logins: await lastLogins(route.edgeId) };
  const { decisions, refusal, answer, isUndecided } = await ExplainedWalk.through(route.steps, request, as, modules);
  if (isUndecided) return { decisions, outcome: { targets: [] }, upstreamRequest: null };
  if (question.as !== null && route.steps.every((step) => step.assume === undefined))
    decisions.push(skipped('edge', 'no_login', 'The route has no login module, so "as" changes nothing.'));
  for (const { name } of route.modules) {
    if (route.steps.every(({ module }) => module !== name))
      decisions.push(skipped(name, 'does_not_decide', 'The module does not decide whether requests pass.'));
  }
  if (refusal !== null) {
    const { status, code } = refusal;
    return { decisions, outcome: { status, errorCode: code, targets: [] }, upstreamRequest: null };
  }
  if (answer !== null) {
    const { status, location } = answer;
    return { decisions, outcome: { status, location, targets: [] }, upstreamRequest: null };
  }
  return forwarding(request, { edge, route }, reach, decisions);
}

async function forwarding(
  request: HypotheticalRequest,
  { edge, route }: RoutePlace,
  reach: ReachView,
  decisions: readonly ExplainedDecision[],
): Promise<Explained> {
  const changed = new ChangedRequest(request.client, { route, host: request.host, runtime: { findEdge: () => edge } });
  for (const module of route.requestChangers) {
    const change = await module.prepared.transformRequest(request, changed.headers);
    if (change === null) continue;
    // Nobody has sent a body.
    if ('read' in change) continue;
    const refusal = 'refusal' in change ? change.refusal : changed.apply(module, change);
    if (refusal !== null) {
      const { status, code, reason, message } = refusal;
      const decided = { module: module.name, decision: 'refuse', reason, text: message } as const;
      return {
        decisions: [...decisions, decided],
        outcome: { status, errorCode: code, targets: [] },
        upstreamRequest: null,
      };
    }
  }
  const possible = route.backend === null ? [] : possibleTargets(route.backend, reach);
  if (possible.length === 0) {
    const code = 'ERR_POSTERN_NO_BACKEND';
    const decided = { module: 'backend', decision: 'refuse', reason: 'no_backend', text: NO_BACKEND } as const;
    const outcome = { status: edgeErrors.rows[code].status, errorCode: code, targets: [] };
    return { decisions: [...decisions, decided], outcome, upstreamRequest: null };
  }
  const [only, ...others] = possible;
  if (only?.name === FORBIDDEN_ADDRESS && others.length === 0) {
    const decided = { module: 'backend', decision: 'refuse', reason: FORBIDDEN_ADDRESS, text: FORBIDDEN } as const;
    return {
      decisions: [...decisions, decided],
      outcome: { ...ownAnswer(possible), targets: [] },
      upstreamRequest: null,
    };
  }
  const isForwarded = possible.some(({ kind }) => kind === 'upstream' || kind === 'tunnel');
  return {
    decisions,
    outcome: { ...ownAnswer(possible), targets: possible.filter(({ kind }) => kind !== 'unreachable').map(shown) },
    upstreamRequest: isForwarded
      ? upstreamChanges(
          request.client.head,
          forwardedRequest(request, changed.forwarded(request.client), changed.headers, route),
        )
      : null,
  };
}

const FORBIDDEN =
  'The edge may not connect to the address of the backend: it belongs to this server, or to the metadata of a cloud. Change the address, or see the settings upstream_allow_cidrs and api_behind_edge.';
const NO_BACKEND = 'The route has no backend, or its backend has no member.';

/** The status is known where every target is answered by the edge itself, in the same way. */
function ownAnswer(possible: readonly PossibleTarget[]): { readonly status?: number; readonly errorCode?: string } {
  const [first, ...others] = possible;
  if (first?.status === undefined || others.some(({ status }) => status !== first.status)) return {};
  return { status: first.status, ...(first.errorCode !== undefined && { errorCode: first.errorCode }) };
}

function shown({ name, kind, node, forwardsTo }: PossibleTarget) {
  return { name, kind, ...(node !== undefined && { node }), ...(forwardsTo !== undefined && { forwardsTo }) };
}
