import { Readable } from 'node:stream';
import { attach, guarded, ignoreErrors, type ListenerOwner } from '../../../kit/guarded-listeners.ts';
import { combinedValue, firstValue, valuesOf } from '../../../kit/http/header-values.ts';
import { GatheredBytes } from '../../../kit/net/waiting-bytes.ts';
import type { ClientCertificate, OtherDecision, Pass } from '../../../modules/contract/decides.ts';
import type { AdmissionStep, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { PassedBy } from '../../telemetry/requests/recorded-request.ts';
import type { ModuleDecision } from '../../telemetry/traffic-facts.ts';
import type { RequestTrace } from '../../tracing/request-trace.ts';
import type { TrafficCounter } from '../../upstream/upstream.ts';
import type { ClientSide, ConnectionFacts } from '../connections/connection-facts.ts';

/** A request's body whose first part was already read: that part, then the rest as it arrives and is read. */
class ReplayedBody extends Readable {
  readonly #first: Buffer[];
  readonly #rest: Readable | null;
  readonly #owner: ListenerOwner;
  #isAtRest = false;

  /** `rest` is paused; null when all was read. */
  constructor(first: readonly Buffer[], rest: Readable | null, owner: ListenerOwner) {
    super();
    this.#first = [...first];
    this.#rest = rest;
    this.#owner = owner;
    if (rest !== null) {
      ignoreErrors(rest);
      // Even while nobody reads: a client that disconnects must be noticed.
      attach(rest, 'close', this.#onCut);
    }
  }

  override _read(): void {
    while (this.#first.length > 0) if (!this.push(this.#first.shift())) return;
    if (this.#rest === null) this.push(null);
    else if (this.#isAtRest) this.#rest.resume();
    else this.#startRest(this.#rest);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#first.length = 0;
    const rest = this.#rest;
    if (rest !== null) {
      rest.off('data', this.#onData);
      rest.off('end', this.#onEnd);
      rest.off('close', this.#onCut);
    }
    callback(error);
  }

  #startRest(rest: Readable): void {
    this.#isAtRest = true;
    attach(rest, 'data', this.#onData);
    attach(rest, 'end', this.#onEnd);
    if (rest.readableEnded) this.push(null);
    else if (rest.destroyed) this.destroy();
    else rest.resume();
  }

  readonly #contain: ListenerOwner = { contain: (error) => this.#owner.contain(error) };

  readonly #onData = guarded(this.#contain, (chunk: Buffer): void => {
    if (!this.push(chunk)) this.#rest?.pause();
  });

  readonly #onEnd = guarded(this.#contain, (): void => {
    this.push(null);
  });

  readonly #onCut = guarded(this.#contain, (): void => {
    if (!this.readableEnded && this.#rest?.readableEnded !== true) this.destroy();
  });
}

/** `longer`: it exceeds the requested size. `cut`: it is incomplete. */
type BodyReading = Buffer | 'longer' | 'cut';

type State = 'unread' | 'reading' | 'partly' | 'whole' | 'cut';

/**
 * Reads the body of a request into memory, up to a limit, and forwards it afterwards. States: *unread* (nothing was
 * requested) → *reading* → *partly* (more than the limit; the source is paused), *whole* or *cut*. A later, larger
 * limit continues from *partly*.
 */
export class BodyReader {
  readonly #client: ClientSide;
  readonly #onBytes: (count: number) => void;
  readonly #gathered = new GatheredBytes();
  #state: State;
  #maxBytes = 0;
  #settle: (() => void) | null = null;

  /** `onBytes` is called with the number of bytes as they arrive. */
  constructor(client: ClientSide, onBytes: (count: number) => void = () => {}) {
    this.#client = client;
    this.#onBytes = onBytes;
    this.#state = client.source === null ? 'whole' : 'unread';
  }

  async read(maxBytes: number): Promise<BodyReading> {
    const { source, head, writer } = this.#client;
    if ((head.contentLength ?? 0) > maxBytes) return 'longer';
    if (
      source !== null &&
      (this.#state === 'unread' || this.#state === 'partly') &&
      this.#gathered.length <= maxBytes
    ) {
      // The client waits for this before it sends; the upstream cannot be contacted yet.
      if (this.#state === 'unread' && head.expectsContinue) writer.informational(100, []);
      await this.#readUpTo(source, maxBytes);
    }
    if (this.#state === 'cut') return 'cut';
    return this.#gathered.length > maxBytes ? 'longer' : this.#gathered.whole();
  }

  /** The client's side as it is forwarded: with the body from its first byte. */
  forwarded(): ClientSide {
    const { source, head } = this.#client;
    if (source === null || this.#state === 'unread') return this.#client;
    const rest = this.#state === 'partly' ? source : null;
    return {
      ...this.#client,
      // RFC 9110 §10.1.1: the client has already been asked for its body.
      head: { ...head, expectsContinue: false },
      source: new ReplayedBody(this.#gathered.chunks(), rest, this.#client.writer),
      countedBytes: this.#gathered.length,
    };
  }

  #readUpTo(source: Readable, maxBytes: number): Promise<void> {
    this.#state = 'reading';
    this.#maxBytes = maxBytes;
    return new Promise((resolve) => {
      this.#settle = resolve;
      attach(source, 'data', this.#onData);
      attach(source, 'end', this.#onEnd);
      attach(source, 'error', this.#onCut);
      attach(source, 'close', this.#onCut);
      if (source.readableEnded) this.#onEnd();
      else if (source.destroyed) this.#onCut();
      else source.resume();
    });
  }

  /** The client's side contains bugs of these listeners. */
  readonly #owner = { contain: (error: unknown): void => this.#client.writer.contain(error) };

  readonly #onData = guarded(this.#owner, (chunk: Buffer): void => {
    this.#gathered.add(chunk);
    this.#onBytes(chunk.length);
    if (this.#gathered.length > this.#maxBytes) this.#stop('partly');
  });

  readonly #onEnd = guarded(this.#owner, (): void => {
    const { head, isBodyWhole } = this.#client;
    // A truncated upload also ends.
    const hasBytes = head.contentLength === null || this.#gathered.length === head.contentLength;
    this.#stop(hasBytes && isBodyWhole() ? 'whole' : 'cut');
  });

  readonly #onCut = guarded(this.#owner, (): void => this.#stop('cut'));

  #stop(state: State): void {
    const { source } = this.#client;
    if (this.#state !== 'reading' || source === null) return;
    this.#state = state;
    if (state === 'partly') source.pause();
    source.off('data', this.#onData);
    source.off('end', this.#onEnd);
    source.off('error', this.#onCut);
    source.off('close', this.#onCut);
    this.#settle?.();
  }
}

/** What the client sent, as modules read it. */
export class ReceivedRequest {
  readonly connection: ConnectionFacts;
  readonly client: ClientSide;

  constructor(connection: ConnectionFacts, client: ClientSide) {
    this.connection = connection;
    this.client = client;
  }

  get method(): string {
    return this.client.head.method;
  }

  get path(): string {
    return this.client.head.path.path;
  }

  get host(): string {
    return this.client.head.host;
  }

  get authority(): string {
    return this.client.head.authority;
  }

  get target(): string {
    return this.client.head.path.target;
  }

  get switchTo(): string | null {
    return this.client.head.switchTo;
  }

  get clientCertificate(): ClientCertificate | null {
    return this.connection.clientCertificate;
  }

  header(name: string): string | undefined {
    return firstValue(this.client.head.headers, name);
  }

  combinedHeader(name: string): string | undefined {
    return combinedValue(this.client.head.headers, name);
  }

  headerLines(name: string): readonly string[] {
    return valuesOf(this.client.head.headers, name);
  }

  async readBody(maxBytes: number): Promise<Buffer | null> {
    const reading = await new BodyReader(this.client).read(maxBytes);
    return typeof reading === 'string' ? null : reading;
  }
}

const NONE: readonly never[] = [];

/** A request with the facts that log, metrics and history report about it. */
export class ObservedRequest extends ReceivedRequest {
  readonly startedAt = performance.now();
  status = 0;
  bytesIn = 0;
  bytesOut = 0;
  errorCode: string | null = null;
  /** The module and reason that ended it early, such as `ip_restriction:address`. */
  refusedBy: string | null = null;
  /** The step of its route that refused or redirected it; null: none did. */
  endingStep: number | null = null;
  /** The module and reason of a redirect, such as `redirect:rule`. */
  answeredBy: string | null = null;
  targetName: string | null = null;
  tunnelNode: string | null = null;
  counter: TrafficCounter | null = null;
  /** What a module decided that let it pass, where `allow` says too little. */
  otherDecision: { readonly module: string; readonly decision: OtherDecision } | null = null;
  /** The rehearsed access rule that would have refused it. */
  wouldRefuse: NonNullable<Pass['wouldRefuse']> | null = null;
  /** The module and rule that would have refused it, of those that decide no access, such as `rate_limit:limits[0]`. */
  wouldRefuseBy: string | null = null;
  /** The access rule that refused it; null when none let it in, undefined when no access rule refused it. */
  refusingRule: string | null | undefined;
  /** The rule that refused or redirected it, for people. */
  decidingRuleText: string | null = null;
  /** While decisions are kept: names of modules and why they let it pass, in turn. */
  passes: readonly (string | PassedBy)[] = NONE;
  /** Modules that did not answer at once, and how many milliseconds they took, in turn. */
  waits: readonly (string | number)[] = NONE;
  /** When each of these modules was asked, by `performance.now()`. */
  waitStarts: readonly number[] = NONE;
  /** Null until it is forwarded or has ended, and while nothing is traced. */
  trace: RequestTrace | null = null;
  /** When all modules had admitted it, and when its response began, by `performance.now()`; 0: not yet. */
  admittedAt = 0;
  answeredAt = 0;

  /** One array for all modules of a route. */
  protected keepPass(pass: Pass, at: number, steps: readonly AdmissionStep[]): void {
    if (this.passes.length === 0) this.passes = new Array<string | PassedBy>(steps.length * 2);
    const passes = this.passes as (string | PassedBy)[];
    passes[at * 2] = (steps[at] as AdmissionStep).module;
    passes[at * 2 + 1] = pass;
  }

  protected keepRehearsal(
    wouldRefuse: NonNullable<Pass['wouldRefuse']>,
    { module, decidesAccess }: AdmissionStep,
  ): void {
    if (decidesAccess) this.wouldRefuse = wouldRefuse;
    else this.wouldRefuseBy = `${module}:${wouldRefuse.rule ?? wouldRefuse.reason}`;
  }

  protected keepWait(module: string, askedAt: number): void {
    this.waits = [...this.waits, module, performance.now() - askedAt];
    this.waitStarts = [...this.waitStarts, askedAt];
  }

  /** The decisions so far do not count. */
  protected forgetDecisions(): void {
    this.wouldRefuse = null;
    this.otherDecision = null;
    this.wouldRefuseBy = null;
    this.passes = NONE;
    this.waits = NONE;
    this.waitStarts = NONE;
  }
}

/**
 * What each module of the route decided about a finished request. Derived, so that requests without an event cost
 * nothing.
 */
export function moduleDecisions({
  route,
  refusedBy,
  answeredBy,
  endingStep,
  targetName,
  otherDecision,
}: {
  readonly route: RouteSnapshot | null;
  readonly refusedBy: string | null;
  readonly answeredBy: string | null;
  readonly endingStep: number | null;
  readonly targetName: string | null;
  readonly otherDecision: ObservedRequest['otherDecision'];
}): Readonly<Record<string, ModuleDecision>> {
  if (route === null) return {};
  const ended = answeredBy === null ? 'block' : 'answer';
  const by = refusedBy?.split(':', 1)[0] ?? '';
  // Modules that change requests come after all verdicts.
  const isAdmitted = targetName !== null || by === 'backend' || route.requestChangers.some(({ name }) => name === by);
  const decisions: Record<string, ModuleDecision> = {};
  for (const [at, { module, isLater }] of route.steps.entries()) {
    const decision = endingStep === null ? (isAdmitted ? 'allow' : 'invalid') : decisionAt(at, endingStep, ended);
    // A module that was asked at its first place has decided, also if its second one was not reached.
    const isDecided = decisions[module] === ended || (isLater === true && decision === 'invalid');
    if (!isDecided) decisions[module] = decision;
  }
  const { module = '', decision } = otherDecision ?? {};
  if (decision !== undefined && decisions[module] === 'allow') decisions[module] = decision;
  return decisions;
}

function decisionAt(at: number, ending: number, ended: ModuleDecision): ModuleDecision {
  if (at === ending) return ended;
  return at < ending ? 'allow' : 'invalid';
}
