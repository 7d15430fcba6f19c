import type { ReportedFinding } from '../../../kit/findings.ts';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import type { EndpointPublisher, NewEndpoint, Publication } from '../../../proxy/edge/tunnels/endpoints.ts';
import type { Membership } from '../membership/membership.ts';
import { nodeFindings } from '../node.ts';
import type { AnnouncedEndpoint } from './announced.ts';
import { type DirectoryTunnel, nameKeyOf } from './directory-tunnel.ts';
import { type DirectoryListener, SlicedTasks } from './tunnel-directory.ts';

export interface DirectoryEndpointsOptions {
  readonly publisher: EndpointPublisher;
  readonly membership: Pick<Membership, 'setProblem'>;
  readonly log: { warn(fields: object, message: string): void };
  readonly graceMs?: number;
  readonly moveMs?: number;
  readonly retryMs?: number;
}

/**
 * An endpoint of another node, published on this node. *Queued* → *publishing* → *published*, or *refused* until the
 * next try. When the other node is lost, the endpoint is *kept* for a while: a third node may announce it in a moment.
 */
interface Entry {
  readonly tunnelId: string;
  readonly endpoint: AnnouncedEndpoint;
  readonly key: string;
  state: 'queued' | 'publishing' | 'published' | 'refused' | 'kept';
  graceTimer: NodeJS.Timeout | null;
  refusals: number;
  retryAtMs: number;
}

/** A node's lease ends after 1.5 s, and an adopted or resumed session is announced soon after. */
const GRACE_MS = 5_000;
/** When an agent moves, its session is announced or published here a moment after the former home withdrew it. */
const MOVE_MS = 1_000;
/** A port or name that could not be published may be free later: retried after a second, then ever more rarely. */
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

/** Publishes endpoints of other nodes on this node, so that visitors of this node reach every agent. */
export class DirectoryEndpoints implements DirectoryListener {
  readonly #options: DirectoryEndpointsOptions;
  readonly #entries = new Map<string, Entry>();
  /** Endpoint ids by name or port. */
  readonly #byName = new Map<string, string>();
  readonly #queue = new Set<Entry>();
  readonly #refused = new Set<Entry>();
  readonly #slices = new SlicedTasks();
  #retryTimer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: DirectoryEndpointsOptions) {
    this.#options = options;
  }

  /** Number of endpoints that receive traffic here because another node announces them. */
  get size(): number {
    return [...this.#entries.values()].filter(({ state }) => state === 'published' || state === 'kept').length;
  }

  /** Whether each announced endpoint is published or was refused. */
  get isSettled(): boolean {
    return !this.#entries.values().some(({ state }) => state === 'queued' || state === 'publishing');
  }

  /** The publisher for agents of this node. Their claim to a name is newer than an announcement of another node. */
  yielding(publisher: EndpointPublisher): EndpointPublisher {
    return {
      isCoveredByEdge: (host) => publisher.isCoveredByEdge(host),
      publish: (endpoint) => {
        const other = this.#byName.get(nameKeyOf({ ...endpoint, doc: {} }));
        if (other !== undefined && other !== endpoint.id) this.#drop(other);
        return publisher.publish(endpoint);
      },
      withdraw: (endpointId) => publisher.withdraw(endpointId),
    };
  }

  onSession(): void {}
  onListed(): void {}
  onUnlisted(): void {}

  onServed({ id: tunnelId, announced }: DirectoryTunnel): void {
    const { endpoint } = announced;
    if (endpoint === null || this.#isClosed) return;
    const known = this.#entries.get(endpoint.id);
    if (known !== undefined) {
      this.#keep(known);
      return;
    }
    const key = nameKeyOf(endpoint);
    const other = this.#byName.get(key);
    if (other !== undefined) this.#drop(other);
    const entry: Entry = { tunnelId, endpoint, key, state: 'queued', graceTimer: null, refusals: 0, retryAtMs: 0 };
    this.#entries.set(endpoint.id, entry);
    this.#byName.set(key, endpoint.id);
    this.#enqueue(entry);
  }

  onUnserved({ announced }: DirectoryTunnel, isLost: boolean): void {
    const entry = this.#entries.get(announced.endpoint?.id ?? '');
    if (entry === undefined) return;
    const { graceMs = GRACE_MS, moveMs = MOVE_MS } = this.#options;
    const keptMs = isLost ? graceMs : moveMs;
    if (keptMs === 0 || entry.state !== 'published') {
      this.#drop(entry.endpoint.id);
      return;
    }
    entry.state = 'kept';
    entry.graceTimer = setTimeout(() => this.#drop(entry.endpoint.id), keptMs).unref();
  }

  close(): void {
    this.#isClosed = true;
    this.#slices.close();
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    for (const id of [...this.#entries.keys()]) this.#drop(id);
  }

  /** The endpoint was announced again within the grace period. */
  #keep(entry: Entry): void {
    if (entry.graceTimer !== null) clearTimeout(entry.graceTimer);
    entry.graceTimer = null;
    if (entry.state === 'kept') entry.state = 'published';
  }

  #drop(endpointId: string): void {
    const entry = this.#entries.get(endpointId);
    if (entry === undefined) return;
    this.#keep(entry);
    this.#entries.delete(endpointId);
    this.#queue.delete(entry);
    this.#refused.delete(entry);
    if (this.#byName.get(entry.key) === endpointId) this.#byName.delete(entry.key);
    this.#problem(entry, null);
    if (entry.state === 'published' || entry.state === 'publishing') this.#options.publisher.withdraw(endpointId);
  }

  #enqueue(entry: Entry): void {
    entry.state = 'queued';
    const isIdle = this.#queue.size === 0;
    this.#queue.add(entry);
    // Compiling modules takes a while: a node with many tunnels must not hold up requests.
    if (isIdle) setImmediate(() => this.#slices.run(this.#publishQueued()));
  }

  *#publishQueued(): Generator<undefined> {
    for (const entry of this.#queue) {
      this.#queue.delete(entry);
      void this.#publish(entry);
      yield;
    }
  }

  async #publish(entry: Entry): Promise<void> {
    entry.state = 'publishing';
    const { id, proto, host, port, modules } = entry.endpoint;
    const endpoint: NewEndpoint = { id, tunnelId: entry.tunnelId, proto, host, port, modules };
    try {
      const published = await this.#options.publisher.publish(endpoint);
      if (this.#entries.get(id) !== entry) return;
      if (published.ok) {
        entry.state = 'published';
        this.#problem(entry, null);
      } else this.#failed(entry, published);
    } catch (error) {
      reportBug(error, { part: 'directory endpoints', endpoint: id });
      if (this.#entries.get(id) === entry) this.#retryLater(entry);
    }
  }

  #failed(entry: Entry, { code, message }: Extract<Publication, { ok: false }>): void {
    if (entry.endpoint.proto === 'tcp') {
      const { port } = entry.endpoint;
      this.#problem(entry, nodeFindings.found('tcp_port_refused', { port, why: message }));
    } else if (entry.refusals === 0) {
      this.#options.log.warn(
        { endpoint: entry.endpoint.id, host: entry.endpoint.host, code, why: message },
        'cannot publish an endpoint of another node',
      );
    }
    this.#retryLater(entry);
  }

  #retryLater(entry: Entry): void {
    const { retryMs = RETRY_MS } = this.#options;
    entry.state = 'refused';
    entry.retryAtMs = performance.now() + Math.min(retryMs * 2 ** entry.refusals, LONGEST_RETRY_MS);
    entry.refusals += 1;
    this.#refused.add(entry);
    this.#retryTimer ??= setTimeout(() => this.#retry(), retryMs).unref();
  }

  #retry(): void {
    const { retryMs = RETRY_MS } = this.#options;
    const nowMs = performance.now();
    for (const entry of this.#refused) {
      if (entry.retryAtMs > nowMs) continue;
      this.#refused.delete(entry);
      this.#enqueue(entry);
    }
    this.#retryTimer = this.#refused.size === 0 ? null : setTimeout(() => this.#retry(), retryMs).unref();
  }

  #problem(entry: Entry, problem: ReportedFinding | null): void {
    if (entry.endpoint.proto === 'tcp') this.#options.membership.setProblem(entry.key, problem);
  }
}
