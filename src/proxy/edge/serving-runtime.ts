import type { Clock } from '../../kit/clock.ts';
import type { EdgeSnapshot } from '../snapshot/edge-snapshot.ts';
import type { LiveCounts } from '../telemetry/metrics/edge-metrics.ts';
import type { UpstreamFailure } from '../upstream/upstream.ts';
import { Admission, type EdgeTallies } from './admission.ts';
import type { ClientAddresses, ConnectionFacts } from './connections/connection-facts.ts';
import type { EdgeRuntime, UnreadRefusal } from './edge-runtime.ts';
import type { EdgeSettings } from './edge-settings.ts';
import type { Exchange } from './exchange/exchange.ts';
import { LiveExchanges, LOOK_EVERY_MS, SlowSenders } from './exchange/live-exchanges.ts';
import type { HttpServers } from './http/http-servers.ts';
import type { RequestHead } from './http/request-head.ts';
import type { RequestReports } from './reports/request-reports.ts';

/** The requests and connections that the edge has at the moment, and what limits them. */
export class EdgeLoad implements LiveCounts {
  readonly exchanges = new LiveExchanges<Exchange>();
  readonly admission: Admission;
  readonly slowSenders: SlowSenders;
  /** Servers that have been opened: each adds itself to the count of connections. */
  readonly servers: HttpServers[] = [];

  constructor({ admission: limits }: Pick<EdgeSettings, 'admission'>, tallies: EdgeTallies | undefined) {
    this.admission = new Admission(limits, () => this.exchanges.all(), tallies);
    this.slowSenders = new SlowSenders({
      minBytesPerSecond: limits.minBodyBytesPerSecond,
      isScarce: () => this.admission.areRequestsScarce(LOOK_EVERY_MS),
      senders: () => this.exchanges.all(),
    });
  }

  requests(): number {
    return this.admission.requests;
  }

  streams(): number {
    return this.admission.streams;
  }

  connections(): number {
    return this.servers.reduce((count, { connectionCount }) => count + connectionCount, 0);
  }

  begin(exchange: Exchange): void {
    this.exchanges.add(exchange);
    this.admission.begin(exchange);
  }

  end(exchange: Exchange): void {
    this.admission.end(exchange);
    this.exchanges.delete(exchange);
  }
}

interface RuntimeParts extends Pick<EdgeRuntime, 'clock' | 'newRequestId' | 'targetsOf' | 'tracing'> {
  readonly settings: EdgeSettings;
  readonly load: EdgeLoad;
  readonly reports: RequestReports;
  readonly addresses: ClientAddresses;
  readonly behind: EdgeRuntime['behind'];
}

/** What exchanges use of the edge that serves them. The two schemes differ in the edges that they find. */
export class ServingRuntime implements EdgeRuntime {
  readonly scheme: 'http' | 'https';
  readonly findEdge: (host: string) => EdgeSnapshot | undefined;
  readonly clock: Clock;
  readonly forwarding: EdgeRuntime['forwarding'];
  readonly halfClosedMs: number;
  readonly marksForwarded: boolean;
  readonly tracing: EdgeRuntime['tracing'];
  readonly behind: EdgeRuntime['behind'];
  readonly newRequestId: (nowMs: number) => string;
  readonly targetsOf: EdgeRuntime['targetsOf'];
  readonly #load: EdgeLoad;
  readonly #reports: RequestReports;
  readonly #addresses: ClientAddresses;

  constructor(scheme: 'http' | 'https', findEdge: (host: string) => EdgeSnapshot | undefined, parts: RuntimeParts) {
    const { settings } = parts;
    this.scheme = scheme;
    this.findEdge = findEdge;
    this.clock = parts.clock;
    this.forwarding = settings.forwarding;
    this.halfClosedMs = settings.http.keepAliveTimeoutMs;
    this.marksForwarded = settings.marksForwarded ?? true;
    this.tracing = parts.tracing;
    this.behind = parts.behind;
    this.newRequestId = parts.newRequestId;
    this.targetsOf = parts.targetsOf;
    this.#load = parts.load;
    this.#reports = parts.reports;
    this.#addresses = parts.addresses;
  }

  keepsDecisions(): boolean {
    return this.#reports.keepsDecisions();
  }

  clientAddress(remoteAddress: string, head: RequestHead): string {
    return this.#addresses.of(remoteAddress, head);
  }

  trustedChain(remoteAddress: string, head: RequestHead): string | null {
    return this.#addresses.chain(remoteAddress, head);
  }

  begin(exchange: Exchange): void {
    this.#load.begin(exchange);
  }

  answering(exchange: Exchange): void {
    if (exchange.isAnswering) return;
    exchange.isAnswering = true;
    if (this.keepsDecisions()) exchange.answeredAt = performance.now();
    this.#load.admission.answer(exchange);
  }

  finish(exchange: Exchange): void {
    this.#load.end(exchange);
    this.#reports.finished(exchange);
  }

  upstreamFailed(exchange: Exchange, failure: UpstreamFailure): void {
    this.#reports.upstreamFailed(exchange, failure);
  }

  unread(connection: ConnectionFacts, refusal: UnreadRefusal): void {
    this.#reports.unread(connection, refusal);
  }
}
