import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { identityAddress } from '../../../control/identity/contracts.ts';
import type { Clock } from '../../../kit/clock.ts';
import { LatePart } from '../../../kit/late-part.ts';
import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import { Accounts } from '../../../proxy/acme/accounts.ts';
import { addAcmeMetrics, CertificateManager } from '../../../proxy/acme/certificate-manager.ts';
import { openAcmeFetch } from '../../../proxy/acme/client/acme-fetch.ts';
import { AcmeServer } from '../../../proxy/acme/client/acme-server.ts';
import { type ResolveName, resolveName } from '../../../proxy/acme/orders/dns-diagnosis.ts';
import { ChallengeRecords } from '../../../proxy/dns/challenge-records.ts';
import { createProviderFetch } from '../../../proxy/dns/provider-api.ts';
import { type DnsLookup, systemDnsLookup } from '../../../proxy/dns/servers/dns-lookup.ts';
import { INTERNAL_CERTIFICATE } from '../../../proxy/pki/internal-ca-places.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Store } from '../../../store/store.ts';
import type { Config } from '../../settings/schema.ts';
import type { OpenedApi } from '../api.ts';

export interface AcmeDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly certificateEvent: OpenedApi['certificateEvent'];
  readonly resolveName?: ResolveName | undefined;
  readonly dnsLookup?: DnsLookup | undefined;
}

export interface OpenedAcme {
  close(): Promise<void>;
}

/** With PostgreSQL other nodes learn of a challenge by a notification; this leaves time for a busy one. */
const PROPAGATION_MS = 1_500;

/** Certificates from ACME servers. Returns at once: everything else happens beside the traffic. */
export function openAcme(deps: AcmeDependencies): OpenedAcme {
  const { config, store, replica, clock, logger: log, registry } = deps;
  const running = new LatePart<CertificateManager>('the orders of certificates');
  const finished = addAcmeMetrics({ registry, replica, clock, runningCount: () => running.ifOpen?.runningCount ?? 0 });
  if (config.acme === 'off') return { close: async () => {} };
  const ksuid = createKsuidSource();
  const newId = (prefix: string): string => `${prefix}_${ksuid(clock.nowMs())}`;
  const closing = new AbortController();
  const client = openAcmeFetch(config.acme_ca_file);
  const servers = new Map<string, AcmeServer>();
  const serverOf = (directoryUrl: string): AcmeServer => {
    const known = servers.get(directoryUrl);
    if (known !== undefined) return known;
    const server = new AcmeServer({
      directoryUrl,
      furtherOrigins: config.acme_origins,
      fetch: client.fetch,
      clock,
      closing: closing.signal,
    });
    servers.set(directoryUrl, server);
    return server;
  };
  const directories = config.acme_directory;
  const { acme_eab_key_id: keyId, acme_eab_key: key } = config;
  const manager = new CertificateManager({
    store,
    replica,
    clock,
    bootId: newId('nd'),
    ownNames: ownNames(config),
    maxOrders: config.acme_concurrent_orders,
    newId: () => newId('mc'),
    finished,
    accounts: new Accounts({
      store,
      replica,
      clock,
      email: config.acme_email,
      binding: keyId === null || key === null ? null : { keyId, key },
      onlyDirectoryUrl: directories.length === 1 ? (directories[0] ?? null) : null,
      keyDays: config.acme_account_key_days,
      log,
    }),
    serverOf,
    directories,
    challenges: config.acme_challenges,
    profile: config.acme_profile,
    dns: challengeRecords(deps),
    resolve: deps.resolveName ?? resolveName,
    propagationMs: store.engine === 'postgres' ? PROPAGATION_MS : 0,
    wait,
    random: Math.random,
    event: (type, id, doc) => deps.certificateEvent(type, { id, doc }),
    log,
  });
  running.open(manager);
  return {
    close: async () => {
      closing.abort();
      await manager.close();
      client.close();
    },
  };
}

/** Null: the settings name no provider. */
function challengeRecords({ config, clock, dnsLookup }: AcmeDependencies): ChallengeRecords | null {
  const { acme_dns: zones } = config;
  if (zones.length === 0) return null;
  return new ChallengeRecords({
    zones,
    lookup: dnsLookup ?? systemDnsLookup(),
    visibleMs: config.acme_dns_timeout * 1000,
    ports: {
      fetch: createProviderFetch(),
      wait,
      nowMs: () => clock.nowMs(),
      env: process.env,
      hookTimeoutMs: config.acme_dns_hook_timeout * 1000,
    },
  });
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal });
}

/** Names that clients and agents dial, where the listener would otherwise have a certificate of the internal CA. */
function ownNames(config: Config): readonly string[] {
  const { roles, api_tls_cert, api_url, tunnel_tls_cert, tunnel_names, domain } = config;
  const identity = identityAddress(config.identity_host);
  const api = api_tls_cert === INTERNAL_CERTIFICATE && api_url !== null ? [new URL(api_url).hostname] : [];
  const hasTunnels = roles.includes('gateway') && tunnel_tls_cert === INTERNAL_CERTIFICATE;
  return [...api, ...(identity === null ? [] : [identity.hostname]), ...(hasTunnels ? [domain, ...tunnel_names] : [])];
}
