import { atMost } from '../../../kit/async/waiting.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import {
  type Answer,
  type AssumedPerson,
  isAnswer,
  isPass,
  type Pass,
  type Refusal,
  type TrafficRequest,
  type Verdict,
} from '../../../modules/contract/decides.ts';
import type { Module } from '../../../modules/contract/module.ts';
import type { AdmissionStep, EdgeSnapshot, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { UpstreamRequest } from '../../upstream/upstream.ts';
import { edgeErrors } from '../errors.ts';
import { type AdmissionWalk, afterLate, askSteps } from '../exchange/ask-steps.ts';
import { forwardedRequest } from '../forwarding/forwarded-request.ts';
import { ChangedRequest } from '../forwarding/request-changes.ts';
import type { RequestHead } from '../http/request-head.ts';
import type {
  ExplainedDecision,
  Explanation,
  HypotheticalQuestion,
  HypotheticalRequest,
  UpstreamChanges,
} from './explanation.ts';
import { FORBIDDEN_ADDRESS, type PossibleTarget, possibleTargets, type ReachView } from './possible-targets.ts';

interface RouteExplainPorts {
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
  const { decisions, refusal, answer, isUndecided } = await ExplainedWalk.through(route, request, as, modules);
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

/** A module that has not decided by then needs something that is not here, such as a provider's answer. */
const DECIDES_WITHIN_MS = 3_000;
const NO_TEXT = 'The module gives no further explanation.';
const UNDECIDED = 'The module needs data from elsewhere to decide, which an explanation does not fetch.';

/** Writes down what the modules of a route decide about a request that nobody has sent. */
class ExplainedWalk implements AdmissionWalk {
  readonly decisions: ExplainedDecision[] = [];
  refusal: Refusal | null = null;
  answer: Answer | null = null;
  isUndecided = false;
  readonly #request: TrafficRequest;
  readonly #modules: readonly Module[];
  readonly #prepared: RouteSnapshot['modules'];
  readonly #ended = Promise.withResolvers<void>();

  private constructor(request: TrafficRequest, modules: readonly Module[], prepared: RouteSnapshot['modules']) {
    this.#request = request;
    this.#modules = modules;
    this.#prepared = prepared;
  }

  /** Resolves when it has ended. */
  static async through(
    { steps, modules: prepared }: Pick<RouteSnapshot, 'steps' | 'modules'>,
    request: TrafficRequest,
    as: AssumedPerson | null,
    modules: readonly Module[],
  ): Promise<ExplainedWalk> {
    const walk = new ExplainedWalk(request, modules, prepared);
    askSteps(as === null ? steps : steps.map((step) => assuming(step, as)), 0, request, walk);
    await walk.#ended.promise;
    return walk;
  }

  passed(pass: Pass, at: number, steps: readonly AdmissionStep[]): void {
    this.#decided(pass, at, steps);
  }

  refused(refusal: Refusal, at: number, steps: readonly AdmissionStep[]): void {
    this.refusal = refusal;
    this.#end(refusal, 'A module before it refuses the request.', at, steps);
  }

  answered(answer: Answer, at: number, steps: readonly AdmissionStep[]): void {
    this.answer = answer;
    this.#end(answer, 'A module before it redirects the request.', at, steps);
  }

  #end(verdict: Verdict, why: string, at: number, steps: readonly AdmissionStep[]): void {
    this.#decided(verdict, at, steps);
    for (const { module } of steps.slice(at + 1)) this.decisions.push(skipped(module, 'not_reached', why));
    this.#ended.resolve();
  }

  undecided(verdict: Promise<Verdict>, at: number, steps: readonly AdmissionStep[]): void {
    // Null: it is still undecided, or it fails without the network.
    atMost(
      verdict.catch(() => null),
      DECIDES_WITHIN_MS,
      null,
    )
      .then((late) => {
        if (late !== null) afterLate(late, at, steps, this.#request, this);
        else {
          this.decisions.push(skipped((steps[at] as AdmissionStep).module, 'undecided', UNDECIDED));
          this.isUndecided = true;
          this.#ended.resolve();
        }
      })
      .catch(this.#ended.reject);
  }

  admitted(): void {
    this.#ended.resolve();
  }

  #decided(verdict: Verdict, at: number, steps: readonly AdmissionStep[]): void {
    const { module } = steps[at] as AdmissionStep;
    if (isAnswer(verdict)) {
      const { reason, ruleText: rule, location } = verdict;
      this.decisions.push({ module, decision: 'answer', reason, rule, text: `It redirects to ${location}` });
      return;
    }
    const rule = verdict.rule?.text ?? (isPass(verdict) ? verdict.wouldRefuse?.rule : verdict.accessRule) ?? undefined;
    const reasons = this.#modules.find(({ name }) => name === module)?.reasons;
    const wouldRefuse = isPass(verdict) ? verdict.wouldRefuse : undefined;
    const text = isPass(verdict)
      ? (verdict.text ?? reasons?.[verdict.reason] ?? NO_TEXT)
      : this.#whyRefused(module, verdict);
    this.decisions.push({
      module,
      decision: isPass(verdict) ? 'pass' : 'refuse',
      reason: wouldRefuse === undefined ? verdict.reason : 'would_refuse',
      ...(rule !== undefined && { rule }),
      text: wouldRefuse === undefined ? text : `The rules are rehearsed: they would refuse it (${wouldRefuse.reason}).`,
    });
  }

  #whyRefused(module: string, refusal: Refusal): string {
    const prepared = this.#prepared.find(({ name }) => name === module)?.prepared;
    return prepared?.whyRefused?.(this.#request, refusal) ?? refusal.message;
  }
}

function skipped(module: string, reason: string, text: string): ExplainedDecision {
  return { module, decision: 'skipped', reason, text };
}

function assuming(step: AdmissionStep, person: AssumedPerson): AdmissionStep {
  const { assume } = step;
  return assume === undefined ? step : { ...step, ask: (request) => assume(request, person) };
}

const ASSERTION = 'postern-auth-assertion';
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie']);
const JWT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/;

/** How the forwarded request differs from what the client sent. */
function upstreamChanges(
  { headers: sent, authority: sentHost, path }: Pick<RequestHead, 'headers' | 'authority' | 'path'>,
  { headers, standing = [], authority, target }: UpstreamRequest,
): UpstreamChanges {
  const before = linesByName(sent);
  const after = linesByName([...headers, ...standing.flat()]);
  const added: Record<string, string> = authority === sentHost ? {} : { host: authority };
  for (const [name, lines] of after) {
    const fresh = lines.filter((line) => before.get(name)?.includes(line) !== true);
    if (fresh.length > 0) added[name] = fresh.map((line) => shownHeaders(name, line)).join(', ');
  }
  const removed = [...before]
    .filter(([name, lines]) => lines.some((line) => after.get(name)?.includes(line) !== true))
    .map(([name]) => name);
  const headersRemoved = removed.filter((name) => name !== 'host').sort();
  return { headersAdded: added, headersRemoved, ...(target !== path.target && { target }) };
}

/**
 * An assertion appears as its claims, and credentials of a module not at all: nothing leaves that an upstream could
 * accept.
 */
function shownHeaders(name: string, value: string): string {
  if (CREDENTIALS.has(name)) return '(hidden)';
  // Other headers may look like one: a host name has dots, too.
  const payload = name === ASSERTION ? JWT.exec(value)?.[2] : undefined;
  if (payload === undefined) return value;
  return `(unsigned) ${Buffer.from(payload, 'base64url').toString('utf8')}`;
}

function linesByName(headers: HeaderList): ReadonlyMap<string, readonly string[]> {
  const byName = new Map<string, string[]>();
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] as string).toLowerCase();
    byName.set(name, [...(byName.get(name) ?? []), headers[at + 1] as string]);
  }
  return byName;
}
