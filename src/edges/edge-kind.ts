import type { Static, TObject } from 'typebox';
import type { JsonObject } from '../kit/json.ts';
import type { FieldProblem } from '../kit/schema/field-problem.ts';
import type { OtherNames } from '../kit/schema/other-names.ts';

/**
 * The contract of a kind of edge: one folder and one line in `registry.ts`. Paths of the API, storage, ownership of
 * names and ports, modules, events, documentation, command line, client, compilation and traffic follow from it. The
 * endpoints of agents are edges of these kinds too, without records.
 */
export interface EdgeKind {
  /** The folder's name, the last segment of `/edges/https`, and the protocol that the API shows of its endpoints. */
  readonly name: string;
  /** Protocols of the endpoints of agents that are edges of this kind. */
  readonly protocols: readonly string[];
  /**
   * What it has of the listeners. `names`: connections of the listeners for TLS, by the name in the handshake. `ports`:
   * TCP ports, each with all of its connections.
   */
  readonly owns: 'names' | 'ports';
  /** What passes the modules that are set on the edge itself. */
  readonly passes: readonly Passing[];
  /**
   * Where a connection goes. Routes: it ends at the HTTP server, and each request goes to the route for its path. Null:
   * its bytes go to the backend of the edge itself, once the modules for connections have let it pass.
   */
  readonly routes: RouteKind | null;
  /** Whether this server ends TLS, so that its names need certificates. */
  readonly endsTls: boolean;
  /** Null: only agents make such edges, which have no records. */
  readonly api: EdgeApi | null;
}

/**
 * What a module is asked about. `handshakes`: what TLS demands of clients. `requests`: HTTP requests. `connections`:
 * bytes, of which nothing but the client's address is known.
 */
export type Passing = 'handshakes' | 'requests' | 'connections';

/** What the API shows of a kind. */
export interface EdgeApi {
  readonly idPrefix: string;
  /** The name in a sentence: "an HTTPS edge". */
  readonly title: string;
  readonly description: string;
  readonly hostports: HostportRules;
  readonly example: JsonObject;
  readonly otherNames?: OtherNames;
  publicUrl(hostport: string): string;
}

/** The rules for the field `hostports`, with which an edge takes its part of the listeners. */
export interface HostportRules {
  /** What the documentation says about the field. */
  readonly description: string;
  /** Scope of the keys that `keyOf` makes: all kinds with one scope have one owner for each key. */
  readonly scope: string;
  readonly keyOf: (hostport: string) => string;
  readonly normalize: (hostport: string) => string;
  /** What is wrong with it by itself; null: nothing. */
  problem(hostport: string, settings: ListenerSettings): string | null;
  /** What else has a key that an edge wants to add, after `"hostports" includes `; null: nothing. */
  conflict(key: string, settings: ListenerSettings): string | null;
  /** What people call it in files. */
  shortForm(hostport: string): string;
  /** The inverse, for what has no other port. */
  longForm(short: string): string;
}

/** What the settings, and agents that are online, say about names and ports. */
export interface ListenerSettings {
  /** The ports that visitors can use; null: any free one. */
  readonly edgePorts: readonly number[] | null;
  /** Names of agents' tunnels that an edge with this host, which may be a wildcard, would take over. */
  tunnelNamesUnder(host: string): readonly string[];
  /** Null: identity is off. */
  readonly identity: { readonly hostname: string } | null;
}

/** Routes of an edge: records below it, each with modules and a backend. */
export interface RouteKind<Config extends TObject = TObject> {
  readonly idPrefix: string;
  readonly title: string;
  readonly description: string;
  /** What passes the modules of a route. */
  readonly passes: readonly Passing[];
  /** The fields beside `description` and `metadata`. */
  readonly config: Config;
  readonly example: JsonObject;
  readonly otherNames?: OtherNames;
  check(config: Static<Config>): readonly FieldProblem[];
  /** Two routes of an edge never have the same; `keyField` is the field that it comes from. */
  keyOf(config: Static<Config>): string;
  readonly keyField: string;
}

export function defineRoutes<Config extends TObject>(routes: RouteKind<Config>): RouteKind {
  return routes as unknown as RouteKind;
}

/** Kind of an edge's records, frozen by the stored data. */
export function edgeRecordKindOf({ name }: Pick<EdgeKind, 'name'>): string {
  return `${name}_edge`;
}

/** Kind of the records of its routes. */
export function routeRecordKindOf(kind: Pick<EdgeKind, 'name'>): string {
  return `${edgeRecordKindOf(kind)}_route`;
}
