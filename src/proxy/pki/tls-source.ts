import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../../kit/clock.ts';
import { messageOf, whyUnreadable } from '../../kit/error-text.ts';
import { isHostName, isWildcardHost, type ListenAddress } from '../../kit/net/listen-address.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { Store } from '../../store/store.ts';
import { pkiErrors } from './errors.ts';
import type { InternalCa } from './internal-ca.ts';
import { INTERNAL_CERTIFICATE } from './internal-ca-places.ts';
import { ManagedContexts, type ManagedRecords } from './managed-certificates.ts';

const LEAF_DAYS = 90;
const RENEW_BEFORE_MS = 30 * 24 * 60 * 60 * 1000;
const CHECK_EVERY_MS = 60_000;

interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Source of a listener's certificate for as long as it runs: certificates expire before servers stop. */
export interface TlsSource {
  readonly current: TlsPair;
  /** Names for which a certificate from an ACME server comes first. */
  readonly managedNames: readonly string[];
  /** The context of a name with a certificate from an ACME server; undefined: `current` is presented. */
  contextFor(serverName: string): SecureContext | undefined;
  onChange(listener: (pair: TlsPair) => void): void;
  /** Looks for a newer certificate now rather than at the next check. Rejects if its files cannot be used. */
  refresh(): Promise<void>;
  close(): void;
}

interface CertificateNames {
  readonly hosts: string[];
  readonly ips: string[];
}

interface CertificateFiles {
  /** Prefix of the settings' names. */
  readonly setting: string;
  readonly certPath: string;
  readonly keyPath: string;
}

/** One source of a certificate. `renew` returns null while the current one is valid. */
interface TlsProvider {
  readonly first: TlsPair;
  renew(): Promise<TlsPair | null>;
}

/** The settings that name certificates, and those that name the listeners that present them. */
interface TlsSettings {
  readonly domain: string;
  readonly api_tls_cert: string | null;
  readonly api_tls_key: string | null;
  readonly api_listen: ListenAddress;
  readonly api_url: string | null;
  readonly tunnel_tls_cert: string;
  readonly tunnel_tls_key: string | null;
  readonly tunnel_listen: ListenAddress;
  readonly tunnel_address: ListenAddress | null;
  readonly tunnel_names: readonly string[];
}

interface TlsSourceOptions {
  readonly config: TlsSettings;
  readonly clock: Clock;
  readonly internalCa: () => Promise<InternalCa>;
  /** Where certificates from ACME servers are found. */
  readonly records: ManagedRecords;
  readonly onProblem: (error: unknown) => void;
}

/** Null: the API is served without TLS, which `loadConfig` allows on loopback only. */
export async function openApiTls(options: TlsSourceOptions): Promise<TlsSource | null> {
  const { api_tls_cert: certPath, api_tls_key: keyPath } = options.config;
  if (certPath === null) return null;
  return openTlsSource(options, () => certificateNames(apiNames(options.config)), {
    setting: 'api_tls',
    certPath,
    keyPath,
  });
}

interface TunnelTlsOptions extends TlsSourceOptions {
  /** Absent: there is one node. */
  readonly shareNames?: (own: readonly string[]) => Promise<SharedTunnelNames>;
}

/** Agents send their token over it: there is no listener without TLS. */
export async function openTunnelTls(options: TunnelTlsOptions): Promise<TlsSource> {
  const { tunnel_tls_cert: certPath, tunnel_tls_key: keyPath } = options.config;
  const own = tunnelNames(options.config);
  const shared = certPath === INTERNAL_CERTIFICATE ? await options.shareNames?.(own) : undefined;
  const names = (): CertificateNames => certificateNames(shared?.all() ?? own);
  const source = await openTlsSource(options, names, { setting: 'tunnel_tls', certPath, keyPath });
  const stop = shared?.onChange(() => void source.refresh().catch(options.onProblem));
  return {
    ...source,
    get current() {
      return source.current;
    },
    close: () => {
      stop?.();
      source.close();
    },
  };
}

async function openTlsSource(
  { clock, internalCa, records, onProblem }: TlsSourceOptions,
  names: () => CertificateNames,
  { setting, certPath, keyPath }: Omit<CertificateFiles, 'keyPath'> & { readonly keyPath: string | null },
): Promise<TlsSource> {
  // Files are an explicit choice, which a certificate of an ACME server does not replace.
  if (certPath !== INTERNAL_CERTIFICATE && keyPath !== null)
    return renewing(await fileProvider({ setting, certPath, keyPath }), onProblem);
  const source = renewing(await internalProvider(await internalCa(), clock, names), onProblem);
  const managedNames = names().hosts;
  const managed = new ManagedContexts({ records, clock, names: managedNames, onProblem });
  return {
    managedNames,
    get current() {
      return source.current;
    },
    contextFor: (serverName) => managed.contextFor(serverName),
    onChange: (listener) => source.onChange(listener),
    refresh: () => source.refresh(),
    close: () => {
      source.close();
      managed.close();
    },
  };
}

function renewing(provider: TlsProvider, onProblem: (error: unknown) => void): TlsSource {
  let current = provider.first;
  const listeners: ((pair: TlsPair) => void)[] = [];
  const check = async () => {
    const next = await provider.renew();
    if (next === null) return;
    current = next;
    for (const listener of listeners) listener(next);
  };
  const timer = setInterval(() => {
    check().catch(onProblem);
  }, CHECK_EVERY_MS).unref();
  return {
    get current() {
      return current;
    },
    managedNames: [],
    contextFor: () => undefined,
    onChange: (listener) => {
      listeners.push(listener);
    },
    refresh: check,
    close: () => clearInterval(timer),
  };
}

async function internalProvider(ca: InternalCa, clock: Clock, names: () => CertificateNames): Promise<TlsProvider> {
  let minted = '';
  const mint = () => {
    const wanted = names();
    minted = JSON.stringify(wanted);
    return ca.mintLeaf({ ...wanted, days: LEAF_DAYS });
  };
  let leaf = await mint();
  const pair = () => ({ cert: leaf.certificatePem, key: leaf.privateKeyPem });
  return {
    first: pair(),
    renew: async () => {
      const isSame = JSON.stringify(names()) === minted;
      if (isSame && leaf.notAfterMs - clock.nowMs() > RENEW_BEFORE_MS) return null;
      leaf = await mint();
      return pair();
    },
  };
}

/** Every name that a client may reasonably use for the API. */
function apiNames({ api_listen, api_url }: TlsSettings): readonly string[] {
  return namesAt(api_listen, api_url === null ? [] : [new URL(api_url).hostname.replace(/^\[|\]$/g, '')]);
}

/** Every name that an agent may reasonably dial. */
function tunnelNames({ tunnel_listen, tunnel_address, tunnel_names, domain }: TlsSettings): readonly string[] {
  return namesAt(tunnel_listen, [domain, ...tunnel_names, ...(tunnel_address === null ? [] : [tunnel_address.host])]);
}

function namesAt(listen: ListenAddress, more: readonly string[]): readonly string[] {
  const names = new Set(['localhost', '127.0.0.1', '::1', ...more]);
  if (!isWildcardHost(listen.host)) names.add(listen.host);
  else if (isHostName(hostname())) names.add(hostname().toLowerCase());
  return [...names];
}

function certificateNames(names: readonly string[]): CertificateNames {
  return {
    hosts: names.filter((name) => isIP(name) === 0),
    ips: names.filter((name) => isIP(name) !== 0),
  };
}

async function readPem(setting: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const message = `${setting}: cannot read ${path}: ${whyUnreadable(cause)}`;
    throw pkiErrors.create('ERR_POSTERN_API_CERTIFICATE', message, { cause });
  }
}

async function fileProvider({ setting, certPath, keyPath }: CertificateFiles): Promise<TlsProvider> {
  const stamp = async () => `${(await stat(certPath)).mtimeMs} ${(await stat(keyPath)).mtimeMs}`;
  const read = async (): Promise<TlsPair> => {
    const pair = { cert: await readPem(`${setting}_cert`, certPath), key: await readPem(`${setting}_key`, keyPath) };
    try {
      createSecureContext(pair);
      return pair;
    } catch (cause) {
      const reason = messageOf(cause);
      const message = `${setting}_cert ${certPath} and ${setting}_key ${keyPath} cannot be used: ${reason}. Name a PEM certificate and its own PEM key`;
      throw pkiErrors.create('ERR_POSTERN_API_CERTIFICATE', message, { cause });
    }
  };
  const first = await read();
  let seen = await stamp();
  return {
    first,
    renew: async () => {
      const now = await stamp();
      if (now === seen) return null;
      const pair = await read();
      // Only now: a pair that was half replaced at the last check is checked again.
      seen = now;
      return pair;
    },
  };
}

const KEY = { kind: 'tunnel_names', id: 'tunnel_names' };
const DAY_MS = 86_400_000;
/** A node that is gone for good, or has another address with every start, must not stay in certificates. */
const KEPT_DAYS = 90;
const MAX_NAMES = 200;
const ATTEMPTS = 5;

interface SharedTunnelNames {
  /** Names and addresses under which agents may dial any node. */
  all(): readonly string[];
  onChange(listener: () => void): () => void;
}

interface Parts {
  readonly store: Pick<Store, 'commit'>;
  readonly replica: Pick<Replica, 'get' | 'refresh' | 'onChange'>;
  readonly clock: Clock;
  readonly onProblem: (error: unknown) => void;
}

/**
 * An agent verifies the name in its own configuration at every node, also at those that another node has named to it.
 * So the certificate of each node has the names of all, which the store keeps: that of a dead node above all.
 */
export async function shareTunnelNames(own: readonly string[], parts: Parts): Promise<SharedTunnelNames> {
  const { replica, onProblem } = parts;
  await addNames(own, parts).catch(onProblem);
  return {
    all: () => [...new Set([...own, ...Object.keys(storedNames(replica))])],
    onChange: (listener) =>
      replica.onChange(
        (changes) => {
          if (changes.some((change) => change.op === 'put')) listener();
        },
        [KEY.kind],
      ),
  };
}

/** Each name with the day on which a node last had it. */
function storedNames(replica: Parts['replica']): Readonly<Record<string, number>> {
  return (replica.get(KEY.kind, KEY.id)?.doc['names'] ?? {}) as Readonly<Record<string, number>>;
}

async function addNames(own: readonly string[], { store, replica, clock }: Parts): Promise<void> {
  const today = Math.floor(clock.nowMs() / DAY_MS);
  for (let attempt = 1; ; attempt += 1) {
    const stored = storedNames(replica);
    if (own.every((name) => (stored[name] ?? 0) >= today - 1)) return;
    const names = Object.fromEntries(
      Object.entries({ ...stored, ...Object.fromEntries(own.map((name) => [name, today])) })
        .filter(([, day]) => day > today - KEPT_DAYS)
        .sort(([, one], [, other]) => other - one)
        .slice(0, MAX_NAMES),
    );
    const seen = replica.get(KEY.kind, KEY.id);
    const committed = await store.commit({
      expect: [{ ...KEY, revision: seen?.revision ?? 'absent' }],
      puts: [{ ...KEY, parent: null, doc: { names }, secrets: null, uniqueKeys: [], references: [] }],
    });
    if (committed.ok) return;
    if (attempt === ATTEMPTS) throw new Error(`the names of this node for agents were not stored: ${committed.reason}`);
    await replica.refresh();
  }
}
