import type { JsonObject } from '../lib/json.ts';
import type { PreparationProblem, PreparedModule, TlsPolicy } from '../modules/prepared-module.ts';
import type { MatchableRoute, RouteTable } from './route-table.ts';

/** An edge as traffic meets it: immutable, made once per change, swapped as a whole. */
export interface EdgeSnapshot {
  readonly id: string;
  /** Host patterns, lower case, without ports. */
  readonly hosts: readonly string[];
  readonly tls: TlsPolicy;
  /** Equal as long as what a handshake has to prove stays the same: a connection opened under another one no longer suffices. */
  readonly tlsGeneration: string;
  readonly routes: RouteTable<RouteSnapshot>;
  /** Those with a module that serves paths of its own on every host of the edge. */
  readonly ownPathRoutes: readonly RouteSnapshot[];
  /** Why the edge itself lets nothing through, if so. */
  readonly problem: ModuleProblem | null;
  /** Every module of its own that cannot be prepared. */
  readonly problems: readonly ModuleProblem[];
  /** Served over plain HTTP, and not over HTTPS: some of those that have no record. */
  readonly isPlain?: boolean;
}

export interface RouteSnapshot extends MatchableRoute {
  readonly id: string;
  readonly edgeId: string;
  /** Enabled modules of the edge and the route, in the order of the registry. */
  readonly modules: readonly NamedModule[];
  /** Why it lets nothing through, if so: for a reason of its own or of its edge's. */
  readonly problem: ModuleProblem | null;
  /** Every module of its own that cannot be prepared; those of the edge are the edge's. */
  readonly problems: readonly ModuleProblem[];
  readonly backend: BackendSnapshot | null;
  /** Of all modules of all routes of the edge, in lower case: cookies belong to a host, not to a route. */
  readonly ownCookieNames: ReadonlySet<string>;
}

export interface NamedModule {
  readonly name: string;
  readonly prepared: PreparedModule;
}

export interface ModuleProblem extends PreparationProblem {
  readonly module: string;
}

/** A backend with everything that it refers to. The object's identity stands for its version. */
export interface BackendSnapshot {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly config: JsonObject;
  /** Backends that it names, by id; a missing one is absent. */
  readonly members: ReadonlyMap<string, BackendSnapshot>;
}
