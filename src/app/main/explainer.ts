import { Registry } from 'prom-client';
import type { Catalog } from '../../control/documents/catalog.ts';
import type { ExplainedRequest, HypotheticalRequest } from '../../control/resources/explain/explain.ts';
import type { Clock } from '../../kit/clock.ts';
import type { OwnIssuer } from '../../modules/contract/own-issuer.ts';
import { recentLogins } from '../../modules/learned-claims.ts';
import { reservedNames } from '../../modules/reserved-names.ts';
import { VacantNames } from '../../proxy/edge/answers/vacant-names.ts';
import { ClientAddresses } from '../../proxy/edge/connections/connection-facts.ts';
import { headRules } from '../../proxy/edge/edge-settings.ts';
import { type ExplainPorts, explainRequest } from '../../proxy/edge/explain/explain-request.ts';
import type { OnlineTunnels } from '../../proxy/edge/tunnels/online-tunnels.ts';
import type { EdgeSnapshot } from '../../proxy/snapshot/edge-snapshot.ts';
import type { Snapshots } from '../../proxy/snapshot/snapshots.ts';
import type { Store } from '../../store/store.ts';
import type { Config } from '../settings/schema.ts';
import { edgeSettings } from './data-plane/data-plane.ts';
import { NO_ATTEMPTS } from './data-plane/inert-ports.ts';
import { type ModuleRuntimes, openModuleRuntimes, type RuntimeDependencies } from './data-plane/module-runtimes.ts';
import { tracesUrl } from './data-plane/tracing.ts';

/** Edges whose modules have no effect, compiled when somebody asks for an explanation, once per version. */
class InertEdges {
  readonly #open: () => Promise<ModuleRuntimes>;
  readonly #compiled = new WeakMap<EdgeSnapshot, EdgeSnapshot>();
  #runtimes: Promise<ModuleRuntimes> | null = null;

  constructor(open: () => Promise<ModuleRuntimes>) {
    this.#open = open;
  }

  async of(edge: EdgeSnapshot, snapshots: Snapshots): Promise<EdgeSnapshot | null> {
    const known = this.#compiled.get(edge);
    if (known !== undefined) return known;
    // A failure is not kept: the next question tries again.
    this.#runtimes ??= this.#open().catch((error: unknown) => {
      this.#runtimes = null;
      throw error;
    });
    const { byModule } = await this.#runtimes;
    const compiled = snapshots.compileWith(edge, byModule);
    if (compiled !== null) this.#compiled.set(edge, compiled);
    return compiled;
  }

  async close(): Promise<void> {
    await this.#runtimes?.then((runtimes) => runtimes.close());
  }
}

interface ExplainerDependencies
  extends Omit<
    RuntimeDependencies,
    'registry' | 'attempts' | 'isAddressAllowed' | 'recompile' | 'isInert' | 'traffic'
  > {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** All logins that have not ended. */
  readonly sessions: Pick<Store['logins'], 'listSessions'>;
  /** Whether the edge may not connect to this upstream. */
  readonly isForbidden: (upstream: string) => boolean;
  /** Name of this node. */
  readonly node: string;
  readonly tunnels: OnlineTunnels;
  readonly mayServeNames: () => boolean;
  /** Postern's own OpenID provider; null: it is off. */
  readonly ownIssuer: OwnIssuer | null;
}

/** Explains requests, also in a process without an edge: the same snapshots are compiled there. */
export class Explainer {
  readonly #deps: ExplainerDependencies;
  readonly #inert: InertEdges;
  readonly #ports: Omit<ExplainPorts, 'findEdge' | 'inertEdge' | 'ownHostAbove'>;
  #snapshots: Snapshots | null = null;
  #isPassthrough: (host: string) => boolean = () => false;

  constructor(deps: ExplainerDependencies) {
    const { config, catalog, clock, tunnels: online, mayServeNames: mayServe } = deps;
    const settings = edgeSettings(config);
    const addresses = new ClientAddresses(settings.trustedProxies);
    const vacant = new VacantNames(config.domain);
    this.#deps = deps;
    this.#inert = new InertEdges(() =>
      openModuleRuntimes({
        ...deps,
        registry: new Registry(),
        attempts: NO_ATTEMPTS,
        traffic: { moduleEvent: () => {} },
        isAddressAllowed: () => false,
        recompile: () => {},
        isInert: true,
      }),
    );
    this.#ports = {
      ...{ clock, addresses, modules: catalog.modules, reach: { online, mayServe, isForbidden: deps.isForbidden } },
      rules: headRules(settings, reservedNames(catalog.modules)),
      runtimeOf: (scheme) => ({
        ...{ scheme, forwarding: settings.forwarding, isTraced: tracesUrl(config) !== null },
        trustedChain: (remoteAddress, head) => addresses.chain(remoteAddress, head),
      }),
      lastLogins: async (edgeId) => (await recentLogins(deps.sessions, [edgeId], clock.nowMs()))?.get(edgeId) ?? [],
      isPassthrough: (host) => this.#isPassthrough(host),
      // Over TLS only where there is a certificate for such names.
      isVacant: (scheme, host) => (scheme === 'http' ? vacant.has(host) : vacant.certificateNameOf(host) !== null),
    };
  }

  /** The API opens before what it explains. */
  follow(snapshots: Snapshots, isPassthrough: ((host: string) => boolean) | undefined): void {
    this.#snapshots = snapshots;
    if (isPassthrough !== undefined) this.#isPassthrough = isPassthrough;
  }

  async explain(question: HypotheticalRequest): Promise<ExplainedRequest> {
    const snapshots = this.#snapshots;
    if (snapshots === null) throw new Error('requests are explained once the server has started');
    const explained = await explainRequest(question, {
      ...this.#ports,
      findEdge: (scheme, host) => (scheme === 'https' ? snapshots.find(host) : snapshots.findPlain(host)),
      ownHostAbove: (host) => {
        const [name = host] = snapshots.ownHostOf(host)?.hosts ?? [];
        return name === host ? null : name;
      },
      inertEdge: (edge) => this.#inert.of(edge, snapshots),
    });
    return { ...explained, node: this.#deps.node };
  }

  close(): Promise<void> {
    return this.#inert.close();
  }
}
