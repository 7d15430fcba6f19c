import type { HeaderList } from '../../lib/header-list.ts';
import type { Module } from '../../modules/module.ts';
import { isPass, type Refusal, type Verdict } from '../../modules/prepared-module.ts';
import type { AdmissionStep, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import { edgeErrors } from '../errors.ts';
import { forwardedRequest } from '../forwarded-request.ts';
import { withHeaderChange } from '../module-headers.ts';
import { withoutOwnCookies } from '../own-cookies.ts';
import type { ExplainedDecision, Explanation, HypotheticalQuestion } from './explanation.ts';
import type { HypotheticalRequest } from './hypothetical-request.ts';
import { type PossibleTarget, possibleTargets, type TunnelView } from './possible-targets.ts';
import { upstreamChanges } from './upstream-changes.ts';

export interface RouteExplainPorts {
  readonly tunnels: TunnelView;
  readonly modules: readonly Module[];
}

type Explained = Pick<Explanation, 'decisions' | 'outcome' | 'upstreamRequest'>;

/** A module that has not decided by then needs something that is not here, such as a provider's answer. */
const DECIDES_WITHIN_MS = 3_000;
const NO_TEXT = 'The module gives no further explanation.';

/** Asks the modules of the matched route, and lists the targets. */
export async function explainRoute(
  request: HypotheticalRequest,
  route: RouteSnapshot,
  question: HypotheticalQuestion,
  { tunnels, modules }: RouteExplainPorts,
): Promise<Explained> {
  const decisions: ExplainedDecision[] = [];
  let refusal: Refusal | null = null;
  for (const step of route.steps) {
    if (refusal !== null) {
      decisions.push(skipped(step.module, 'not_reached', 'A module before it refuses the request.'));
      continue;
    }
    const verdict = await ask(step, request, question);
    decisions.push(decisionOf(step, verdict, modules));
    if (verdict === 'undecided') return { decisions, outcome: { targets: [] }, upstreamRequest: null };
    if (!isPass(verdict)) refusal = verdict;
  }
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
  return forwarding(request, route, tunnels, decisions);
}

async function forwarding(
  request: HypotheticalRequest,
  route: RouteSnapshot,
  tunnels: TunnelView,
  decisions: readonly ExplainedDecision[],
): Promise<Explained> {
  let headers: HeaderList = withoutOwnCookies(request.client.head.headers);
  for (const module of route.requestChangers) {
    const change = (await module.prepared.transformRequest?.(request, headers)) ?? null;
    if (change === null) continue;
    if ('refusal' in change) {
      const { status, code, reason, message } = change.refusal;
      const decided = { module: module.name, decision: 'refuse', reason, text: message } as const;
      return {
        decisions: [...decisions, decided],
        outcome: { status, errorCode: code, targets: [] },
        upstreamRequest: null,
      };
    }
    // Nobody has sent a body.
    if (!('read' in change)) headers = withHeaderChange(module, headers, change);
  }
  const possible = route.backend === null ? [] : possibleTargets(route.backend, tunnels);
  if (possible.length === 0) {
    const code = 'ERR_POSTERN_NO_BACKEND';
    const decided = { module: 'backend', decision: 'refuse', reason: 'no_backend', text: NO_BACKEND } as const;
    const outcome = { status: edgeErrors.rows[code].status, errorCode: code, targets: [] };
    return { decisions: [...decisions, decided], outcome, upstreamRequest: null };
  }
  const isForwarded = possible.some(({ kind }) => kind === 'upstream' || kind === 'tunnel');
  return {
    decisions,
    outcome: { ...ownAnswer(possible), targets: possible.filter(({ kind }) => kind !== 'unreachable').map(shown) },
    upstreamRequest: isForwarded
      ? upstreamChanges(request.client.head.headers, forwardedRequest(request, request.client, headers, route))
      : null,
  };
}

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

async function ask(
  step: AdmissionStep,
  request: HypotheticalRequest,
  { as }: HypotheticalQuestion,
): Promise<Verdict | 'undecided'> {
  const verdict = as !== null && step.assume !== undefined ? step.assume(request, as) : step.ask(request);
  if (!(verdict instanceof Promise)) return verdict;
  const { promise: late, resolve } = Promise.withResolvers<'undecided'>();
  const timer = setTimeout(() => resolve('undecided'), DECIDES_WITHIN_MS);
  try {
    // A module that fails without the network has decided nothing.
    return await Promise.race([verdict.catch(() => 'undecided' as const), late]);
  } finally {
    clearTimeout(timer);
  }
}

function decisionOf(
  { module }: AdmissionStep,
  verdict: Verdict | 'undecided',
  modules: readonly Module[],
): ExplainedDecision {
  if (verdict === 'undecided') {
    const text = 'The module needs data from elsewhere to decide, which an explanation does not fetch.';
    return skipped(module, 'undecided', text);
  }
  const rule = verdict.rule?.text ?? (isPass(verdict) ? verdict.wouldRefuse?.rule : verdict.accessRule) ?? undefined;
  const reasons = modules.find(({ name }) => name === module)?.reasons;
  const wouldRefuse = isPass(verdict) ? verdict.wouldRefuse : undefined;
  const text = isPass(verdict) ? (reasons?.[verdict.reason] ?? NO_TEXT) : verdict.message;
  return {
    module,
    decision: isPass(verdict) ? 'pass' : 'refuse',
    reason: wouldRefuse === undefined ? verdict.reason : 'would_refuse',
    ...(rule !== undefined && { rule }),
    text: wouldRefuse === undefined ? text : `The rules are rehearsed: they would refuse it (${wouldRefuse.reason}).`,
  };
}

function skipped(module: string, reason: string, text: string): ExplainedDecision {
  return { module, decision: 'skipped', reason, text };
}
