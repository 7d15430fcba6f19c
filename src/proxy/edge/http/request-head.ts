import { type CanonicalPath, readPath } from '../../../kit/http/canonical-path.ts';
import { type HeaderList, HOP_BY_HOP, valuesOf } from '../../../kit/http/header-values.ts';
import { METHODS } from '../../../kit/http/node-http.ts';
import { COMMON_NAMES } from '../../../kit/http1/header-block.ts';
import { withoutRootDot } from '../../../kit/net/host-name.ts';
import { EDGE_HEADERS, nameMatcher } from '../../../modules/reserved-names.ts';
import type { EdgeErrorCode } from '../errors.ts';

/** Headers about the client that the edge adds to every request, or that it never forwards. Modules may remove them. */
export const FORWARDED: ReadonlySet<string> = new Set([
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-real-ip',
  'forwarded',
]);

/**
 * Never forwarded as received: the edge computes framing and connection headers, and states the client's address
 * itself.
 */
export const SPECIAL: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'host',
  'proxy-authenticate',
  'proxy-authorization',
  'content-length',
  'expect',
  ...FORWARDED,
]);

/** Client addresses in the spelling of large providers' proxies: trusted proxies may send them. */
const ADDRESSES: ReadonlySet<string> = new Set(
  `cf-connecting-ip cf-connecting-ipv6 cf-pseudo-ipv4 client-ip do-connecting-ip fastly-client-ip fly-client-ip true-client-ip
x-appengine-user-ip x-azure-clientip x-client-ip x-cluster-client-ip x-envoy-external-address x-original-forwarded-for
x-remote-addr x-remote-ip`.split(/\s+/),
);

/**
 * A login can exempt OPTIONS for CORS preflights, which never contain these headers. An upstream that honors them
 * would treat such a request as another method.
 */
const METHOD_OVERRIDES: ReadonlySet<string> = new Set(['x-http-method', 'x-http-method-override', 'x-method-override']);

const PLAIN_NAME = /^[a-z0-9-]*$/;

/** The name as CGI and PHP read it: they replace everything but letters and digits. In lower case. */
export function foldedName(name: string): string {
  return PLAIN_NAME.test(name) ? name : name.replaceAll(/[^a-z0-9]/g, '-');
}

/** Client headers that do not reach upstreams: the edge's own, and those of the setting `drop_request_headers`. */
export class DroppedHeaders {
  readonly #names = new Set<string>();
  readonly #prefixes: RegExp;
  readonly #addresses: ReadonlySet<string>;
  readonly #forwarded: ReadonlySet<string>;

  /**
   * Names, or prefixes that end in `*`: of the setting, and those that modules reserve. `kept`: names that pass all the
   * prefixes.
   */
  constructor(patterns: readonly string[], reserved: readonly string[] = [], kept: readonly string[] = []) {
    const prefixes: string[] = [];
    const isReserved = nameMatcher([...EDGE_HEADERS, ...reserved]);
    // A proxy may report addresses, but never a name that a module sets.
    this.#addresses = new Set([...ADDRESSES].filter((name) => !isReserved(name)));
    for (const pattern of [...EDGE_HEADERS, ...reserved, ...patterns]) {
      const name = pattern.toLowerCase().replaceAll('_', '-');
      if (name.endsWith('*')) prefixes.push(name.slice(0, -1));
      else this.#names.add(name);
    }
    // Neither the setting's names nor the modules' contain special characters of regular expressions.
    const exceptions = kept.length === 0 ? '' : `(?!(?:${kept.join('|')})$)`;
    this.#prefixes = new RegExp(`^${exceptions}(?:${prefixes.join('|')})`);
    this.#forwarded = new Set(COMMON_NAMES.filter((name) => !SPECIAL.has(name) && !this.has(name, 'OPTIONS', false)));
  }

  /** Whether this is a common name that is always forwarded: then nothing else needs to be asked. */
  isForwarded(name: string): boolean {
    return this.#forwarded.has(name);
  }

  /** In lower case. Special names are dropped too, but must be read first. */
  has(name: string, method: string, isFromProxy: boolean): boolean {
    if (this.#names.has(name) || this.#prefixes.test(name)) return !(isFromProxy && this.#addresses.has(name));
    return method === 'OPTIONS' && METHOD_OVERRIDES.has(name);
  }

  /**
   * Many upstreams read "x_forwarded_for" as "x-forwarded-for": names with an underscore are dropped. CGI and PHP
   * replace everything but letters and digits this way, including dots (Traefik GHSA-rf44-j88r-hh8c): a name that would
   * become a dropped one is dropped too.
   */
  hasAlias(name: string, method: string): boolean {
    if (PLAIN_NAME.test(name)) return false;
    if (name.includes('_')) return true;
    const folded = foldedName(name);
    return SPECIAL.has(folded) || this.has(folded, method, false);
  }

  /** Client trailers that may be forwarded: some upstreams merge them into the headers. */
  forwardableTrailers(raw: HeaderList, method: string): HeaderList {
    const kept: string[] = [];
    for (let at = 0; at < raw.length; at += 2) {
      const name = (raw[at] as string).toLowerCase();
      const isDropped = this.hasAlias(name, method) || SPECIAL.has(name) || this.has(name, method, false);
      if (!isDropped) kept.push(name, raw[at + 1] as string);
    }
    return kept;
  }
}

/** A request's head after everything ambiguous was rejected. */
export interface RequestHead {
  readonly method: string;
  readonly path: CanonicalPath;
  /** Lower case, without the port. */
  readonly host: string;
  /** As the client wrote it, without the dot of the root, for the upstream's Host. */
  readonly authority: string;
  /** The client wrote the dot: its cookies belong to another host. */
  readonly isRooted: boolean;
  /** End-to-end client headers that may be forwarded. */
  readonly headers: HeaderList;
  readonly contentLength: number | null;
  readonly isChunked: boolean;
  readonly expectsContinue: boolean;
  /** Protocol to switch to, such as `websocket`. */
  readonly switchTo: string | null;
  /** X-Forwarded-For as received; trusted only from a trusted proxy. */
  readonly forwardedFor: string | null;
}

export type HeadReading =
  | { readonly ok: true; readonly head: RequestHead }
  | { readonly ok: false; readonly code: EdgeErrorCode; readonly message: string };

export interface RawHead {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: 1 | 2;
  /** Scheme expected in a target in absolute form. */
  readonly absoluteScheme: 'http' | 'https';
  /** Flat, as received, in order. Without pseudo headers. */
  readonly rawHeaders: HeaderList;
  /** `:authority` of HTTP/2. */
  readonly authority: string | null;
  /** `:protocol` of an extended CONNECT (RFC 8441). */
  readonly protocol: string | null;
  readonly hasUpgrade: boolean;
  /** Whether the peer is a trusted proxy. */
  readonly isFromProxy: boolean;
}

/** The methods of the runtime's own parser: both protocols accept the same ones (docs/reference/headers.md). */
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
/** Other programs read a port with leading zeros, or 0, as another port or as none. */
const AUTHORITY = /^([A-Za-z0-9._-]{1,253})(?::([1-9]\d{0,4}))?$/;
const MAX_PORT = 65_535;

/** Settings that apply to heads. */
export interface HeadRules {
  readonly dropped: DroppedHeaders;
  /** Ports that a request may name; null: any. A request without a port is always accepted. */
  readonly hostPorts: ReadonlySet<number> | null;
}

export function readHead(raw: RawHead, { dropped, hostPorts }: HeadRules): HeadReading {
  // As an Upgrade, another protocol (such as h2c) would bypass every module.
  if (raw.method === 'TRACE' || (raw.method === 'CONNECT' && raw.protocol !== 'websocket')) {
    return { ok: false, code: 'ERR_POSTERN_METHOD_REFUSED', message: `the method ${raw.method} is not forwarded` };
  }
  if (!KNOWN_METHODS.has(raw.method))
    return { ok: false, code: 'ERR_POSTERN_BAD_HTTP', message: 'the method is unknown' };
  const facts = new HeaderFacts(raw.httpVersion);
  const problem = facts.read(raw, dropped);
  if (problem !== null) return { ok: false, code: 'ERR_POSTERN_BAD_HTTP', message: problem };
  const switchTo = raw.protocol ?? (raw.hasUpgrade ? facts.upgrade : null);
  // A handshake is forwarded without a body, and must not arrive as complete.
  if (switchTo !== null && (facts.isChunked || (facts.contentLength ?? 0) > 0))
    return { ok: false, code: 'ERR_POSTERN_BAD_HTTP', message: 'a WebSocket handshake has no body' };
  if (switchTo !== null && !facts.hasPlainKey)
    return { ok: false, code: 'ERR_POSTERN_BAD_HTTP', message: 'Sec-WebSocket-Key is given twice, or is not ASCII' };
  const target = originForm(raw, facts);
  if (typeof target !== 'string') return { ok: false, code: 'ERR_POSTERN_BAD_HTTP', message: target.message };
  const authority = raw.authority === null ? facts.host : withoutRootDot(raw.authority);
  const named = authority === null ? null : AUTHORITY.exec(authority);
  if (
    named === null ||
    authority === null ||
    Number(named[2] ?? 0) > MAX_PORT ||
    (raw.authority !== null && facts.host !== null && facts.host !== authority)
  ) {
    return { ok: false, code: 'ERR_POSTERN_BAD_HTTP', message: 'the request has no host or two hosts' };
  }
  if (hostPorts !== null && named[2] !== undefined && !hostPorts.has(Number(named[2]))) {
    return { ok: false, code: 'ERR_POSTERN_BAD_HTTP', message: 'the port in the Host header is not accepted' };
  }
  const reading = readPath(target);
  if (!reading.ok) return { ok: false, code: 'ERR_POSTERN_BAD_PATH', message: reading.message };
  return {
    ok: true,
    head: {
      method: raw.protocol === null ? raw.method : 'GET',
      path: reading.path,
      host: (named[1] as string).toLowerCase(),
      authority,
      isRooted: raw.authority === null ? facts.isRooted : raw.authority !== authority,
      headers: facts.forwarded(),
      contentLength: facts.contentLength,
      isChunked: facts.isChunked,
      expectsContinue: facts.expectsContinue,
      switchTo,
      forwardedFor: facts.forwardedFor,
    },
  };
}

/**
 * Absolute-form must name the same host as the Host header (RFC 9112 §3.2.2); the request is always forwarded in
 * origin-form.
 */
function originForm(raw: RawHead, facts: HeaderFacts): string | { readonly message: string } {
  const { target } = raw;
  if (target.startsWith('/')) return target;
  if (raw.httpVersion === 2)
    return target === '*' ? { message: 'OPTIONS * is not forwarded' } : { message: 'the path does not start with "/"' };
  const absolute = /^(https?):\/\/([^/?#\\@]+)(\/[^#]*)?$/i.exec(target);
  if (absolute?.[1]?.toLowerCase() !== raw.absoluteScheme)
    return { message: `the target is neither a path nor an ${raw.absoluteScheme} URL` };
  if (withoutRootDot(absolute[2] ?? '').toLowerCase() !== facts.host?.toLowerCase())
    return { message: 'the target and the Host header name different hosts' };
  return absolute[3] ?? '/';
}

/** Walks the headers once, and rejects what is ambiguous. */
class HeaderFacts {
  host: string | null = null;
  isRooted = false;
  contentLength: number | null = null;
  isChunked = false;
  expectsContinue = false;
  upgrade: string | null = null;
  forwardedFor: string | null = null;
  readonly #isHttp1: boolean;
  readonly #kept: string[] = [];
  #named: Set<string> | null = null;

  constructor(httpVersion: RawHead['httpVersion']) {
    this.#isHttp1 = httpVersion === 1;
  }

  read({ rawHeaders, method, isFromProxy }: RawHead, dropped: DroppedHeaders): string | null {
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const value = rawHeaders[at + 1] as string;
      if (dropped.isForwarded(rawHeaders[at] as string)) {
        this.#kept.push(rawHeaders[at] as string, value);
        continue;
      }
      const name = (rawHeaders[at] as string).toLowerCase();
      if (dropped.hasAlias(name, method)) continue;
      if (SPECIAL.has(name)) {
        const problem = this.#special(name, value);
        if (problem !== null) return problem;
      } else if (!dropped.has(name, method, isFromProxy)) this.#kept.push(name, value);
    }
    return this.isChunked && this.contentLength !== null ? 'both Content-Length and Transfer-Encoding are given' : null;
  }

  /**
   * Whether a service reads the same key as the edge (RFC 6455 §11.3.1): it may join two, or hash other bytes. The edge
   * would take its response for a failure.
   */
  get hasPlainKey(): boolean {
    const [key = '', ...others] = valuesOf(this.#kept, 'sec-websocket-key');
    return others.length === 0 && !/[^\x20-\x7e]/.test(key);
  }

  /** Headers named by Connection are for this hop; but a client cannot name a header that the edge adds later. */
  forwarded(): HeaderList {
    const named = this.#named;
    if (named === null) return this.#kept;
    return this.#kept.filter((_, at) => !named.has(this.#kept[at - (at % 2)] as string));
  }

  #special(name: string, value: string): string | null {
    switch (name) {
      case 'host':
        if (this.host !== null) return 'the Host header is given more than once';
        this.host = withoutRootDot(value);
        this.isRooted = this.host !== value;
        return null;
      case 'content-length':
        if (this.contentLength !== null || !/^(0|[1-9]\d{0,15})$/.test(value))
          return 'Content-Length is not a single number';
        this.contentLength = Number(value);
        return null;
      case 'transfer-encoding':
        if (!this.#isHttp1 || this.isChunked || value !== 'chunked') return 'Transfer-Encoding is not "chunked"';
        this.isChunked = true;
        return null;
      case 'connection':
        for (const token of value.split(',')) {
          const named = token.trim().toLowerCase();
          // TE must be named (RFC 9110 §10.1.4), and the kept part of it is our own.
          if (named !== '' && named !== 'close' && named !== 'keep-alive' && named !== 'upgrade' && named !== 'te') {
            this.#named ??= new Set();
            this.#named.add(named);
          }
        }
        return this.#isHttp1 ? null : 'HTTP/2 has no Connection header';
      case 'upgrade':
        this.upgrade = value.trim().toLowerCase();
        return null;
      case 'expect':
        if (value.toLowerCase() !== '100-continue') return 'Expect is not "100-continue"';
        this.expectsContinue = true;
        return null;
      case 'x-forwarded-for':
        this.forwardedFor = this.forwardedFor === null ? value : `${this.forwardedFor}, ${value}`;
        return null;
      case 'te':
        // RFC 9110 §10.1.4: only "trailers" may pass a hop, and gRPC needs it to.
        if (/(^|,)\s*trailers\s*(,|$)/i.test(value)) this.#kept.push('te', 'trailers');
        return null;
      default:
        return null;
    }
  }
}
