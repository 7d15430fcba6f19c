import type { Readable } from 'node:stream';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import type { Answer, Identity, Pass, Permit, Refusal, Verdict } from '../../../modules/contract/decides.ts';
import type { OwnPathRequest } from '../../../modules/contract/prepared-module.ts';
import type { AdmissionStep, EdgeSnapshot, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { RouteTaken } from '../../upstream/upstream.ts';
import { answerExchange, answerOrCut } from '../answers/answer-or-cut.ts';
import { type ErrorAnswer, errorPage } from '../answers/error-page.ts';
import { type ClientSide, type ConnectionFacts, handshakeSuffices } from '../connections/connection-facts.ts';
import type { EdgeRuntime } from '../edge-runtime.ts';
import { type EdgeErrorCode, edgeErrors } from '../errors.ts';
import { Forwarding } from '../forwarding/forwarding.ts';
import { RequestChanges } from '../forwarding/request-changes.ts';
import type { IncomingRequest, RequestProblem } from '../http/incoming-request.ts';
import { type AdmissionWalk, afterLate, askSteps, currentRoute, Reevaluation } from './ask-steps.ts';
import { OutcomeReport } from './outcome-report.ts';
import { isOwnPath, serveOwnHost, serveOwnPath } from './own-paths.ts';
import { ObservedRequest } from './received-request.ts';
import { MISDIRECTED, oddOnOwnHost, STALE_CONNECTION, unmatched, unpreparedModule } from './refusals.ts';

const NO_BACKEND_MESSAGE = 'This site has no backend yet. Its operator must configure one.';
const ADMITTED_BEFORE: Pass = { isPass: true, reason: 'admitted_before' };
const NODE_BEHIND_MESSAGE = 'This server stood still, and does not know yet what was changed meanwhile. Try again.';
const NOTHING = Buffer.alloc(0);
const BUG_MESSAGE = 'An internal error occurred. Try again later.';

/**
 * One request through the edge. States: *judging* (route found, modules called one after the other; from the start
 * when the configuration changes while one of them decides), *changing* (modules change it, if needed after they have
 * read its body), *forwarding* (on its way to a backend and back), *done*. Any state goes to *done* when the client
 * disconnects, when a configuration change would now reject the request, or when something fails.
 *
 * Objects with methods instead of closures: this is the hot path.
 */
export class Exchange extends ObservedRequest implements OwnPathRequest, RouteTaken, AdmissionWalk {
  readonly id: string;
  readonly nowMs: number;
  readonly runtime: EdgeRuntime;
  readonly clientAddress: string;
  route: RouteSnapshot | null = null;
  /** Position in LiveExchanges; -1 when it is not listed. */
  livePosition = -1;
  permit: Permit | null = null;
  isExemptFromLogin = false;
  isAnswering = false;
  /** Null while no module of the route wants to know the outcome. */
  outcome: OutcomeReport | null = null;
  #permitBytes = 0;
  #permitVersion = 0;
  #admittedAs: Identity | null = null;
  #forwarding: Forwarding | null = null;
  /** The client's body, or the stream that replays it after a module has read it. */
  #forwardedBody: Readable | null = null;
  #isDone = false;
  /** Whether a module still decides about it, and whether the configuration has changed since it was asked. */
  #awaited: 'current' | 'outdated' | null = null;
  /** Modules that have acted on it before the configuration changed: each acts once. */
  #acted: Set<string> | null = null;
  #reevaluation: Reevaluation | null = null;
  #heldBack: (() => void) | null = null;

  constructor(runtime: EdgeRuntime, connection: ConnectionFacts, client: ClientSide) {
    super(connection, client);
    this.runtime = runtime;
    this.nowMs = runtime.clock.nowMs();
    this.id = runtime.newRequestId(this.nowMs);
    this.clientAddress = runtime.clientAddress(connection.remoteAddress, client.head);
    client.writer.clientAddress = this.clientAddress;
    client.writer.onGone = (problem) => this.#gone(problem);
    client.writer.onBug = (error) => this.bug(error);
  }

  get scheme(): 'http' | 'https' {
    return this.runtime.scheme;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  start(): void {
    this.runtime.begin(this);
    try {
      this.#judge(this.nowMs, this.startedAt);
    } catch (error) {
      this.bug(error);
    }
  }

  #judge(nowMs: number, atMs: number): void {
    const { behind } = this.runtime;
    const late = behind === null ? null : behind(atMs);
    if (late !== null) {
      this.#judgeOnceKnown(late);
      return;
    }
    const edge = this.runtime.findEdge(this.host);
    // Connection reuse must not bypass another host's client certificates, or a changed policy.
    if (edge === undefined || edge.id !== this.connection.edgeId) {
      // Nothing serves the connection's own name: a client that stayed on it would not see the name return.
      if (this.runtime.findEdge(this.connection.serverName) === undefined) this.connection.retire();
      this.refuse(...MISDIRECTED);
    } else if (handshakeSuffices(this.connection, edge, nowMs)) this.#enter(edge);
    else {
      this.connection.retire();
      this.refuse(...STALE_CONNECTION);
    }
  }

  /** The request waited while this thread stood still: what others changed meanwhile counts. */
  #judgeOnceKnown(late: Promise<boolean>): void {
    late
      .then((isKnown) => {
        if (this.#isDone) return;
        if (isKnown) this.#judge(this.runtime.clock.nowMs(), performance.now());
        else this.refuse('ERR_POSTERN_NODE_BEHIND', 'node_behind', NODE_BEHIND_MESSAGE);
      })
      .catch((error: unknown) => this.bug(error));
  }

  /**
   * Browsers keep the cookies of `name.` and `name` apart, and providers and forms return to `name`: logins begin
   * there.
   */
  #leavesRoot(edge: EdgeSnapshot): boolean {
    const isHtmlWanted = this.header('accept')?.includes('text/html') === true;
    const isPage = edge.ownHost === undefined ? isOwnPath(edge, this.client.head.path) : isHtmlWanted;
    if (!isPage || (this.method !== 'GET' && this.method !== 'HEAD')) return false;
    const location = `${this.scheme}://${this.authority.toLowerCase()}${this.target}`;
    this.answer(302, ['location', location, 'cache-control', 'no-store', 'postern-request-id', this.id], NOTHING);
    return true;
  }

  #enter(edge: EdgeSnapshot): void {
    const { path, isRooted } = this.client.head;
    if (isRooted && this.#leavesRoot(edge)) return;
    if (edge.ownHost !== undefined) {
      if (path.odd === null) serveOwnHost(edge.ownHost, this);
      else this.refuse(...oddOnOwnHost(path.odd));
      return;
    }
    if (isOwnPath(edge, path)) {
      serveOwnPath(edge, this);
      return;
    }
    const match = edge.routes.match(path, this.host);
    if (match.found === null) {
      if (match.reason === 'strict') this.decidingRuleText = match.pathReader;
      this.refuse(...unmatched(match, path));
      return;
    }
    this.route = match.found;
    const { problem, outcomeListeners } = match.found;
    if (outcomeListeners.length > 0) this.outcome = new OutcomeReport(this, outcomeListeners);
    if (problem === null) askSteps(this.#entryOf(match.found), 0, this, this);
    else this.refuseWith(unpreparedModule(problem), problem.module, 'unprepared');
  }

  /**
   * A module that has acted on the request, before the configuration changed, is only asked, and not even that if it
   * decides no access: a limit would refuse the request that has used the last of it.
   */
  #entryOf({ id, steps, entrySteps }: RouteSnapshot): readonly AdmissionStep[] {
    const acted = this.#acted;
    if (acted === null) return entrySteps;
    return entrySteps.map((step, at) => {
      if (!acted.has(actOf(id, step))) return step;
      return step.decidesAccess ? (steps[at] as AdmissionStep) : { ...step, ask: () => ADMITTED_BEFORE };
    });
  }

  passed(pass: Pass, at: number, steps: readonly AdmissionStep[]): void {
    if (pass.wouldRefuse !== undefined) this.keepRehearsal(pass.wouldRefuse, steps[at] as AdmissionStep);
    if (pass.decision !== undefined) this.otherDecision = { module: moduleAt(steps, at), decision: pass.decision };
    if (this.runtime.keepsDecisions()) this.keepPass(pass, at, steps);
  }

  refused(refusal: Refusal, at: number, steps: readonly AdmissionStep[]): void {
    this.endingStep = at;
    this.refusedByModule(refusal, moduleAt(steps, at));
  }

  answered({ status, location, reason, ruleText }: Answer, at: number, steps: readonly AdmissionStep[]): void {
    this.answeredBy = `${moduleAt(steps, at)}:${reason}`;
    this.endingStep = at;
    this.decidingRuleText = ruleText;
    this.answer(status, ['location', location, 'postern-request-id', this.id], NOTHING);
  }

  undecided(verdict: Promise<Verdict>, at: number, steps: readonly AdmissionStep[]): void {
    this.#awaited = 'current';
    const asked = { at, steps, routeId: this.route?.id ?? '', since: performance.now() };
    verdict.then((late) => this.#lateVerdict(late, asked)).catch((error: unknown) => this.bug(error));
  }

  #lateVerdict(verdict: Verdict, { at, steps, routeId, since }: AskedStep): void {
    if (this.#isDone) return;
    const isOutdated = this.#awaited === 'outdated' || (this.runtime.behind?.(performance.now()) ?? null) !== null;
    this.#awaited = null;
    if (isOutdated) {
      this.#noteActs(routeId, steps.slice(0, at + 1));
      this.#judgeFromStart();
      return;
    }
    if (this.runtime.keepsDecisions()) this.keepWait(moduleAt(steps, at), since);
    afterLate(verdict, at, steps, this, this);
  }

  #noteActs(routeId: string, asked: readonly AdmissionStep[]): void {
    const acting = asked.filter(({ admit }) => admit !== undefined);
    if (acting.length === 0) return;
    this.#acted ??= new Set();
    for (const step of acting) this.#acted.add(actOf(routeId, step));
  }

  /** Nothing that the replaced configuration has decided counts. */
  #judgeFromStart(): void {
    this.route = null;
    this.outcome = null;
    this.permit = null;
    this.isExemptFromLogin = false;
    this.forgetDecisions();
    this.#judge(this.runtime.clock.nowMs(), performance.now());
  }

  refusedByModule(refusal: Refusal, module: string): void {
    if (refusal.status === 421) this.connection.retire();
    this.refusingRule = refusal.accessRule;
    this.decidingRuleText = refusal.rule?.text ?? refusal.accessRule ?? null;
    this.refuseWith(refusal, module, refusal.reason);
  }

  admitted(): void {
    const route = this.route as RouteSnapshot;
    this.#permitVersion = this.permit?.version ?? 0;
    this.#admittedAs = this.permit?.identity ?? null;
    this.permit?.touch(this.nowMs);
    if (this.runtime.keepsDecisions()) this.admittedAt = performance.now();
    const { requestChangers } = route;
    if (requestChangers.length === 0) this.#forward(route, this.client, this.client.head.headers);
    else new RequestChanges(this, requestChangers, (client, headers) => this.#forward(route, client, headers)).start();
  }

  /** With the modules' changes of the request. */
  #forward(route: RouteSnapshot, client: ClientSide, headers: HeaderList): void {
    this.#forwardedBody = client.source;
    const targets = route.backend === null ? [] : this.runtime.targetsOf(route.backend);
    if (targets.length === 0) {
      this.refuse('ERR_POSTERN_NO_BACKEND', 'no_backend', NO_BACKEND_MESSAGE);
      return;
    }
    this.trace = this.runtime.tracing?.begin(headers) ?? null;
    this.#forwarding = new Forwarding(this, client, headers, route);
    this.#forwarding.start(targets);
  }

  /** The next target may need no tunnel. */
  aimAt(targetName: string): void {
    this.targetName = targetName;
    this.tunnelNode = null;
    this.counter = null;
  }

  /** The configuration changed: a request that would now be rejected ends, others are not affected. */
  reevaluate(edge: EdgeSnapshot | null, held: Permit | null = null): void {
    try {
      this.#reevaluate(edge, held);
    } catch (error) {
      // A request that cannot be re-evaluated does not continue, and the others are still re-evaluated.
      this.bug(error);
    }
  }

  /** Whether its permit is now that of another requester than it was admitted for. */
  isOfAnother(): boolean {
    const [before, now] = [this.#admittedAs, this.permit?.identity ?? null];
    return before !== null && now !== null && (before.kind !== now.kind || before.id !== now.id);
  }

  /** Runs `task` when no module is about to decide again: it would see a request without its sender. */
  onceDecided(task: () => void): void {
    if (this.#reevaluation?.isWaiting === true) this.#heldBack = task;
    else task();
  }

  decidedAgain(): void {
    const task = this.#heldBack;
    this.#heldBack = null;
    task?.();
  }

  /** With a `held` permit its module has already decided: other modules re-evaluate the user. */
  #reevaluate(edge: EdgeSnapshot | null, held: Permit | null): void {
    if (this.#isDone || (this.route === null && this.#awaited === null)) return;
    const route = currentRoute(this, edge);
    if (this.#awaited !== null) {
      this.#awaited = 'outdated';
      // A client that leaves meanwhile must not be counted for a deleted route.
      this.route = route;
      return;
    }
    if (route === null) {
      this.cut('configuration');
      return;
    }
    // The module that granted it may be gone; the current one grants another.
    this.permit = held;
    this.isExemptFromLogin = false;
    this.#reevaluation?.supersede();
    this.#reevaluation = new Reevaluation(this);
    this.#reevaluation.start(route.accessSteps, held !== null);
  }

  /** Called twice a second. */
  look(nowMs: number): void {
    this.outcome?.look(nowMs);
    this.#checkPermit(nowMs);
  }

  /** Bytes since the last call count as use of the permit, and an ended permit cuts the exchange. */
  #checkPermit(nowMs: number): void {
    const { permit } = this;
    if (permit === null || this.#isDone) return;
    const bytes = this.bytesIn + this.bytesOut;
    if (bytes !== this.#permitBytes) {
      this.#permitBytes = bytes;
      permit.touch(nowMs);
    }
    if (!permit.isHeld(nowMs)) this.cut('permit_ended');
    else if (permit.version !== this.#permitVersion && this.#awaited === null) {
      this.#permitVersion = permit.version;
      this.reevaluate(this.runtime.findEdge(this.host) ?? null, permit);
    }
  }

  refuseWith(error: ErrorAnswer, by: string, reason: string): void {
    this.refusedBy = `${by}:${reason}`;
    this.errorCode = error.code;
    const { headers, body } = errorPage(error, this.id, this.header('accept'));
    this.answer(error.status, headers, body);
  }

  /** A complete response from the edge. An unwanted request body is drained, so that the connection can be reused. */
  answer(status: number, headers: HeaderList, body: Buffer): void {
    // A stream in between would hold the rest back.
    if (this.#forwardedBody !== this.client.source) this.#forwardedBody?.destroy();
    this.client.source?.resume();
    answerExchange(this, status, headers, body);
    this.done();
  }

  /** A bug: nothing continues, nothing is forwarded, and the connection accepts no other request. */
  bug(error: unknown): void {
    reportBug(error, { request_id: this.id });
    if (this.#isDone) return;
    this.connection.retire();
    this.#forwarding?.abort();
    if (this.client.writer.isHeadSent) this.cut('bug');
    else this.refuse('ERR_POSTERN_EDGE_INTERNAL', 'bug', BUG_MESSAGE);
  }

  /** Ends it so that the client notices a truncated response. */
  cut(reason: string): void {
    if (this.#isDone) return;
    this.refusedBy = `cut:${reason}`;
    this.#forwarding?.abort();
    this.client.writer.cut();
    this.done();
  }

  goAway(): boolean {
    return this.#forwarding?.goAway() ?? false;
  }

  done(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.outcome?.settle('none');
    this.runtime.finish(this);
  }

  refuse(code: EdgeErrorCode, reason: string, message: string): void {
    this.refuseWith({ status: edgeErrors.rows[code].status, code, message }, 'edge', reason);
  }

  #gone(problem?: RequestProblem): void {
    if (this.#isDone) return;
    if (problem !== undefined) {
      if (this.client.writer.isHeadSent) {
        this.cut(problem.reason);
        return;
      }
      this.#forwarding?.abort();
      this.refuse(problem.code, problem.reason, `The request was rejected: ${problem.message}.`);
      return;
    }
    this.refusedBy ??= 'client:gone';
    this.#forwarding?.abort();
    this.done();
  }
}

/** A step that needs time, and when it was asked, by `performance.now()`. */
interface AskedStep {
  readonly at: number;
  readonly steps: readonly AdmissionStep[];
  readonly routeId: string;
  readonly since: number;
}

function actOf(routeId: string, { module, isLater }: AdmissionStep): string {
  return `${routeId} ${module}${isLater === true ? ' later' : ''}`;
}

function moduleAt(steps: readonly AdmissionStep[], at: number): string {
  return (steps[at] as AdmissionStep).module;
}

/** Starts an exchange for a request that can be parsed, and rejects any other. */
export function serveRequest(runtime: EdgeRuntime, connection: ConnectionFacts, request: IncomingRequest): void {
  const { reading, writer, source, trailers, isBodyWhole } = request;
  if (reading.ok) {
    new Exchange(runtime, connection, { head: reading.head, writer, source, trailers, isBodyWhole }).start();
    return;
  }
  const { code, message } = reading;
  const { status } = edgeErrors.rows[code];
  const id = runtime.newRequestId(runtime.clock.nowMs());
  const { headers, body } = errorPage(
    { status, code, message: `The request was rejected: ${message}.` },
    id,
    request.accept,
  );
  answerOrCut(writer, status, headers, body);
  runtime.unread(connection, { id, status, code, bytesOut: body.length });
}
