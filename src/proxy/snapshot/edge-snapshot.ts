import type { BackendSnapshot } from '../../backends/backend.ts';
import type { WholeAnswer, WholeRequest } from '../../kit/http/whole-request.ts';
import type { AssumedPerson, TlsPolicy, TrafficRequest, Verdict } from '../../modules/contract/decides.ts';
import type { PreparationProblem } from '../../modules/contract/prepare.ts';
import type { PreparedModule } from '../../modules/contract/prepared-module.ts';
import { type MatchableRoute, RouteTable } from './route-table.ts';

/** An edge as traffic sees it: immutable, compiled once per change, swapped as a whole. */
export interface EdgeSnapshot {
  readonly id: string;
  /** Host patterns, lower case, without ports. */
  readonly hosts: readonly string[];
  readonly tls: TlsPolicy;
  /**
   * Changes when the requirements for handshakes change: a connection opened under another generation no longer
   * suffices.
   */
  readonly tlsGeneration: string;
  readonly routes: RouteTable<RouteSnapshot>;
  /**
   * Present: it has no routes, and its connections are forwarded as bytes to this backend, if these modules let them
   * pass.
   */
  readonly connection?: RouteSnapshot;
  /** Routes with a module that serves its own paths on every host of the edge. */
  readonly ownPathRoutes: readonly RouteSnapshot[];
  /** Paths that are never forwarded, because their requests carry secrets of a module; absent: none. */
  readonly secretPaths?: readonly string[];
  /** Why the edge itself rejects all traffic, if it does. */
  readonly problem: ModuleProblem | null;
  /** All of its own modules that cannot be prepared. */
  readonly problems: readonly ModuleProblem[];
  /** Served over plain HTTP instead of HTTPS: some edges without a record. */
  readonly isPlain?: boolean;
  /** The program itself serves all requests: there are no routes. */
  readonly ownHost?: OwnHost;
}

export interface RouteSnapshot extends MatchableRoute {
  readonly id: string;
  readonly edgeId: string;
  /** Enabled modules of the edge and the route, in registry order. */
  readonly modules: readonly NamedModule[];
  /** What decides whether a request may pass, in order. Asking has no effect. */
  readonly steps: readonly AdmissionStep[];
  /**
   * The same for a request that a visitor has sent, with the effects of its modules; the same list if there are none.
   */
  readonly entrySteps: readonly AdmissionStep[];
  /** Steps of modules that decide access; the same list if all do. */
  readonly accessSteps: readonly AdmissionStep[];
  /** The modules that change requests, in the same order. */
  readonly requestChangers: readonly RequestChanger[];
  /** The modules that change responses, in reverse order: a response comes from the other side. */
  readonly responseChangers: readonly ModuleWith<'transform'>[];
  /** The modules that learn how the backend served a request. */
  readonly outcomeListeners: readonly ModuleWith<'settled'>[];
  /** Why it rejects all traffic, if it does: because of itself or its edge. */
  readonly problem: ModuleProblem | null;
  /** All of its own modules that cannot be prepared; those of the edge are listed at the edge. */
  readonly problems: readonly ModuleProblem[];
  readonly backend: BackendSnapshot | null;
  /** For all modules of all routes of the edge, in lower case: cookies belong to a host, not to a route. */
  readonly ownCookieNames: OwnCookieNames;
}

export interface NamedModule {
  readonly name: string;
  readonly prepared: PreparedModule;
  /** Paths that the module declares, if it serves them here. */
  readonly ownPaths?: readonly string[];
}

/** One question to a module: whether it recognizes the requester, or whether the request may pass. */
export interface AdmissionStep {
  readonly module: string;
  /** Whether it sets the permit. Such a step is not repeated while its permit is held. */
  readonly grantsPermit: boolean;
  /** Whether its module decides who may enter. */
  readonly decidesAccess: boolean;
  /** The step is the second one of its module, at a later place. */
  readonly isLater?: true;
  /** In place of `ask` in `entrySteps`, where the module has an effect: called once for each request. */
  readonly admit?: (request: TrafficRequest) => Verdict | Promise<Verdict>;
  ask(request: TrafficRequest): Verdict | Promise<Verdict>;
  /** For explanations, where the module logs people in: see `PreparedModule.assume`. */
  readonly assume?: (request: TrafficRequest, person: AssumedPerson) => Verdict | Promise<Verdict>;
}

/** A module that has this hook. */
export interface ModuleWith<Hook extends keyof PreparedModule> extends NamedModule {
  readonly prepared: PreparedModule & Required<Pick<PreparedModule, Hook>>;
}

export interface RequestChanger extends ModuleWith<'transformRequest'> {
  /** Request headers that it may not change: they belong to the edge or to another module. */
  readonly isForeignHeader: (name: string) => boolean;
}

export interface ModuleProblem extends PreparationProblem {
  readonly module: string;
}

/** Names of cookies, in lower case, that no upstream of an edge may set. */
export interface OwnCookieNames {
  has(name: string): boolean;
}

/** Names reserved by modules on every host, and those added by the configuration of this edge's modules. */
export class EdgeCookieNames implements OwnCookieNames {
  readonly #isReserved: (name: string) => boolean;
  readonly #added = new Set<string>();

  constructor(isReserved: (name: string) => boolean) {
    this.#isReserved = isReserved;
  }

  add(name: string): void {
    this.#added.add(name);
  }

  has(name: string): boolean {
    return this.#added.has(name) || this.#isReserved(name);
  }
}

/** A host that the program serves itself, such as that of its identity provider. It gets whole requests. */
export interface OwnHost {
  /** Lower case, without the port. */
  readonly hostname: string;
  serve(request: WholeRequest): Promise<WholeAnswer>;
}

/** The own host among the edges: connections and certificates are found by its name, and no route has it. */
export function ownHostEdge(host: OwnHost): EdgeSnapshot {
  return {
    id: `own:${host.hostname}`,
    hosts: [host.hostname],
    tls: {},
    tlsGeneration: 'own',
    routes: new RouteTable([]),
    ownPathRoutes: [],
    problem: null,
    problems: [],
    ownHost: host,
  };
}
