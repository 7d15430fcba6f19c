import { type HeaderList, HOP_BY_HOP } from '../../../kit/http/header-values.ts';
import { COMMON_NAMES } from '../../../kit/http1/header-names.ts';
import { EDGE_HEADERS, nameMatcher } from '../../../modules/reserved-names.ts';

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
const METHODS: ReadonlySet<string> = new Set(['x-http-method', 'x-http-method-override', 'x-method-override']);

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
    return method === 'OPTIONS' && METHODS.has(name);
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
