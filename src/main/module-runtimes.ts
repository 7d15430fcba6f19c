import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { Config } from '../config/schema.ts';
import type { Catalog } from '../documents/catalog.ts';
import type { Clock } from '../lib/clock.ts';
import { createGuardedFetch } from '../lib/guarded-fetch.ts';
import { createKsuidSource } from '../lib/ksuid.ts';
import { isLoopbackHost } from '../lib/listen-address.ts';
import { localhostLookup } from '../lib/localhost-lookup.ts';
import { moduleRecordKey } from '../modules/module.ts';
import type { IssuerAccess, ModuleRuntime, RuntimePorts } from '../modules/module-runtime.ts';
import { settingsOf } from '../modules/module-settings.ts';
import { agentIssuers } from '../modules/oidc/agent-issuers.ts';
import { oidc } from '../modules/oidc/oidc.ts';
import type { OidcSettings } from '../modules/oidc/settings.ts';
import type { Replica } from '../replica/replica.ts';
import type { Store } from '../store/store.ts';
import { signingKeyRecords } from './signing-key-records.ts';

const ROUTE_KIND = 'https_edge_route';
const EVERYTHING = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

export interface ModuleRuntimes {
  readonly byModule: ReadonlyMap<string, ModuleRuntime>;
  /** Limits of issuers named by agents. */
  readonly agentIssuers: IssuerAccess;
  edgeChanged(edgeId: string): void;
  close(): Promise<void>;
}

interface RuntimeDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly isAddressAllowed: (ip: string, port: number) => boolean;
}

/** Opens the modules' per-process state. */
export async function openModuleRuntimes(deps: RuntimeDependencies): Promise<ModuleRuntimes> {
  const ports = runtimePorts(deps);
  const byModule = new Map<string, ModuleRuntime>();
  for (const module of deps.catalog.modules) {
    const runtime = await module.createRuntime?.(ports, settingsOf(deps.config.moduleSettings, module));
    if (runtime !== undefined) byModule.set(module.name, runtime);
  }
  return {
    byModule,
    agentIssuers: ports.agentIssuers,
    edgeChanged: (edgeId) => {
      for (const runtime of byModule.values()) runtime.edgeChanged?.(edgeId);
    },
    close: async () => {
      for (const runtime of byModule.values()) await runtime.close();
    },
  };
}

function runtimePorts({
  config,
  store,
  replica,
  clock,
  logger,
  registry,
  isAddressAllowed,
}: RuntimeDependencies): RuntimePorts {
  const ksuid = createKsuidSource();
  const login: OidcSettings = settingsOf(config.moduleSettings, oidc);
  const isPlainHttpAllowed = (hostname: string): boolean =>
    isLoopbackHost(hostname) || login.oidc_http_issuers.includes(hostname);
  const happenings = new Counter({
    name: 'postern_login_events_total',
    help: 'Logins, refreshes and logouts, by result.',
    labelNames: ['event'],
    registers: [registry],
  });
  return {
    clock,
    log: logger,
    fetch: createGuardedFetch({ isAddressAllowed, isPlainHttpAllowed, lookup: localhostLookup }),
    isPlainHttpAllowed,
    agentIssuers: agentIssuers({
      allowedCidrs: login.agent_issuer_allow_cidrs,
      isUpstreamAllowed: isAddressAllowed,
      isPlainHttpAllowed,
      lookup: localhostLookup,
    }),
    mac: (purpose, data) => store.mac(purpose, data),
    seal: (purpose, text) => store.seal(purpose, text),
    open: (purpose, sealed) => store.open(purpose, sealed),
    newId: (prefix) => `${prefix}_${ksuid(clock.nowMs())}`,
    logins: { ...store.logins, isShared: store.engine === 'postgres' },
    signingKeys: signingKeyRecords(store, replica),
    moduleConfigs: (edgeId, module) =>
      replica.pageOfParent(ROUTE_KIND, edgeId, EVERYTHING).flatMap(({ id }) => {
        const key = moduleRecordKey(ROUTE_KIND, id, module);
        const record = replica.get(key.kind, key.id);
        return record === undefined ? [] : [record.doc];
      }),
    count: (event) => happenings.inc({ event }),
  };
}
