import { CodedForms } from '../../../kit/files/coded-forms.ts';
import { FolderSite } from '../../../kit/files/folder-site.ts';
import { OpenFiles } from '../../../kit/files/open-files.ts';
import { localhostLookup } from '../../../kit/net/lookups.ts';
import { DeadlineTicker } from '../../../proxy/upstream/deadline-ticker.ts';
import { createDial, type Dial, upstreamSecureContext } from '../../../proxy/upstream/dial.ts';
import { Http1Upstream } from '../../../proxy/upstream/http1-upstream.ts';
import { NegotiatedUpstream } from '../../../proxy/upstream/open-upstream.ts';
import type {
  ResponseHead,
  Upstream,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamLimits,
  UpstreamRequest,
} from '../../../proxy/upstream/upstream.ts';
import type { TunnelSpec } from '../handle.ts';
import type { LocalAddress } from './local-address.ts';

/** The edge has shorter timeouts and resets the request when they pass. These only bound leaks. */
export const LOCAL_LIMITS: UpstreamLimits = {
  connectTimeoutMs: 10_000,
  responseTimeoutMs: 600_000,
  idleTimeoutMs: 3_600_000,
  keepAliveMs: 30_000,
  maxIdleConnections: 256,
  maxHeaderBytes: 131_072,
  maxHeaderCount: 500,
};

const ticker = new DeadlineTicker();
/** All folders of this process share them. */
const folderParts = { files: new OpenFiles(), forms: new CodedForms() };

/** How the service of a tunnel is reached. */
type LocalOptions = Pick<TunnelSpec, 'upstreamTls' | 'files'>;

/** The local HTTP service of a tunnel. It does not connect yet. */
export function openLocal(address: LocalAddress, { upstreamTls: tls, files }: LocalOptions): Upstream {
  const { scheme, host, port, hostport, folder } = address;
  if (folder !== undefined) return openFolder(folder, files);
  const isSecure = scheme === 'https';
  const dial = createDial({
    host,
    port,
    tls: isSecure
      ? {
          servername: tls?.servername ?? host,
          takesAnyCertificate: tls?.insecureSkipVerify === true,
          context: upstreamSecureContext(tls?.ca),
        }
      : null,
    connectTimeoutMs: LOCAL_LIMITS.connectTimeoutMs,
    // The user of this machine chose the address.
    isAddressAllowed: () => true,
    lookup: localhostLookup,
  });
  const parts = { limits: LOCAL_LIMITS, ticker };
  if (scheme === 'http' || scheme === 'tcp') return new Http1Upstream({ ...parts, dial });
  return new NegotiatedUpstream({
    ...parts,
    dial: isSecure ? dial : withPriorKnowledge(dial),
    authority: `${isSecure ? 'https' : 'http'}://${hostport}`,
  });
}

function openFolder(folder: string, files: LocalOptions['files']): Upstream {
  const {
    indexFiles = ['index.html'],
    fallback = null,
    notFoundPage = null,
    listing = false,
    compression = true,
  } = files ?? {};
  // The user of this machine chose the folder.
  const bounds = { folder, roots: null, forbidden: [] };
  return new FolderSite({ ...bounds, indexFiles, fallback, notFoundPage, listing, compression }, folderParts);
}

/** RFC 9113 §3.3: HTTP/2 without TLS uses prior knowledge instead of negotiation. */
function withPriorKnowledge(dial: Dial): Dial {
  return (purpose, handler) =>
    dial({ ...purpose, isStream: true }, (dialled, failure) => {
      const protocol = purpose.alpn.includes('h2') ? 'h2' : 'http/1.1';
      handler(dialled === null ? null : { ...dialled, protocol }, failure);
    });
}

/** A replica that was not reached gets no requests for this long, unless no other one is left. */
const REST_MS = 2_000;

/** The service of a tunnel: one address, or several replicas that share its requests. */
export class Replicas implements Upstream {
  readonly #options: LocalOptions;
  #all: readonly Replica[];
  #turn = 0;

  constructor(addresses: readonly LocalAddress[], options: LocalOptions) {
    this.#options = options;
    this.#all = addresses.map((address) => new Replica(address, options));
  }

  get addresses(): readonly LocalAddress[] {
    return this.#all.map(({ address }) => address);
  }

  /** For messages: that of the first replica. */
  get hostport(): string {
    return this.#all[0]?.address.hostport ?? '';
  }

  /** Requests in progress finish at their replica. */
  move(addresses: readonly LocalAddress[]): void {
    const before = new Map(this.#all.map((replica) => [replica.address.text, replica]));
    this.#all = addresses.map((address) => {
      const known = before.get(address.text);
      before.delete(address.text);
      return known ?? new Replica(address, this.#options);
    });
    for (const gone of before.values()) void gone.drain();
  }

  /** The one with the fewest requests in progress; equal ones in turn. Null: all were tried. */
  next(tried?: ReadonlySet<Replica>): Replica | null {
    const all = this.#all;
    this.#turn = (this.#turn + 1) % Math.max(1, all.length);
    let best: Replica | null = null;
    for (let index = 0; index < all.length; index += 1) {
      const replica = all[(this.#turn + index) % all.length] as Replica;
      if (tried?.has(replica) !== true && (best === null || replica.isBetterThan(best))) best = replica;
    }
    return best;
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange {
    const [only] = this.#all;
    if (only !== undefined && this.#all.length === 1) return only.upstream().send(request, handler);
    return new SharedExchange(this, request, handler);
  }

  async drain(): Promise<void> {
    await Promise.all(this.#all.map((replica) => replica.drain()));
  }

  stats(): { readonly idle: number; readonly active: number } {
    const each = this.#all.map((replica) => replica.stats());
    return { idle: sum(each.map(({ idle }) => idle)), active: sum(each.map(({ active }) => active)) };
  }
}

class Replica {
  readonly address: LocalAddress;
  readonly #options: LocalOptions;
  #upstream: Upstream | null = null;
  #restsUntilMs = 0;

  constructor(address: LocalAddress, options: LocalOptions) {
    this.address = address;
    this.#options = options;
  }

  /** Opened at the first request. */
  upstream(): Upstream {
    this.#upstream ??= openLocal(this.address, this.#options);
    return this.#upstream;
  }

  stats(): { readonly idle: number; readonly active: number } {
    return this.#upstream?.stats() ?? { idle: 0, active: 0 };
  }

  /** Closes idle connections. The next request opens it again. */
  async drain(): Promise<void> {
    const upstream = this.#upstream;
    this.#upstream = null;
    await upstream?.drain();
  }

  rest(): void {
    this.#restsUntilMs = performance.now() + REST_MS;
  }

  isBetterThan(other: Replica): boolean {
    const [rests, otherRests] = [this.#isResting(), other.#isResting()];
    return rests === otherRests ? this.stats().active < other.stats().active : otherRests;
  }

  #isResting(): boolean {
    return this.#restsUntilMs > 0 && performance.now() < this.#restsUntilMs;
  }
}

/** A request that goes to another replica if the chosen one cannot be reached: nothing of it was sent by then. */
class SharedExchange implements UpstreamExchange, UpstreamHandler {
  readonly #replicas: Replicas;
  readonly #request: UpstreamRequest;
  readonly #handler: UpstreamHandler;
  readonly #tried = new Set<Replica>();
  #replica: Replica | null = null;
  #exchange: UpstreamExchange | null = null;
  #isAborted = false;
  /** Absent where the handler has none: the upstream client then copies the bytes for `onData`. */
  readonly onBorrowedData?: (chunk: Buffer) => boolean;

  constructor(replicas: Replicas, request: UpstreamRequest, handler: UpstreamHandler) {
    this.#replicas = replicas;
    this.#request = request;
    this.#handler = handler;
    if (handler.onBorrowedData !== undefined) this.onBorrowedData = (chunk) => handler.onBorrowedData?.(chunk) ?? true;
    if (!this.#sendToNext()) queueMicrotask(() => this.#fail(NO_REPLICA));
  }

  get heldBytes(): number {
    return this.#exchange?.heldBytes ?? 0;
  }

  resume(): void {
    this.#exchange?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#exchange?.abort();
  }

  onInformational(status: number, headers: Parameters<UpstreamHandler['onInformational']>[1]): void {
    this.#handler.onInformational(status, headers);
  }

  onHead(head: ResponseHead): void {
    this.#handler.onHead(head);
  }

  onSwitch(...given: Parameters<UpstreamHandler['onSwitch']>): void {
    this.#handler.onSwitch(...given);
  }

  onData(chunk: Buffer): boolean {
    return this.#handler.onData(chunk);
  }

  onEnd(trailers: Parameters<UpstreamHandler['onEnd']>[0]): void {
    this.#handler.onEnd(trailers);
  }

  onFailure(failure: UpstreamFailure): void {
    if (failure.phase === 'connect') {
      this.#replica?.rest();
      if (!failure.mayHaveBeenSent && !this.#isAborted && this.#sendToNext()) return;
    }
    this.#fail(failure);
  }

  onBug(error: unknown): void {
    this.#handler.onBug(error);
  }

  #sendToNext(): boolean {
    const replica = this.#replicas.next(this.#tried);
    if (replica === null) return false;
    this.#tried.add(replica);
    this.#replica = replica;
    this.#exchange = replica.upstream().send(this.#request, this);
    return true;
  }

  #fail(failure: UpstreamFailure): void {
    if (!this.#isAborted) this.#handler.onFailure(failure);
  }
}

const NO_REPLICA: UpstreamFailure = {
  phase: 'connect',
  reason: 'refused',
  message: 'the service has no replica now',
  mayHaveBeenSent: false,
};

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
