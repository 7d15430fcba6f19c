import type { Static, TObject, TProperties } from 'typebox';
import type { ErrorCode, ErrorRows } from '../kit/errors.ts';
import type { FolderRules } from '../kit/files/folder-site.ts';
import type { HeaderList } from '../kit/http/header-values.ts';
import type { JsonObject } from '../kit/json.ts';
import type { Ref } from '../kit/schema/annotations.ts';
import type { FieldProblem } from '../kit/schema/field-problem.ts';

/**
 * The contract of a kind of backend: one folder and one line in `registry.ts`. API, storage, references, events,
 * documentation, command line, client, compilation and traffic follow from it.
 */
export interface Backend<Config extends TObject = TObject> {
  /** The folder's name, and the last segment of `/backends/static`. */
  readonly name: string;
  readonly idPrefix: string;
  /** The kind's name in a sentence: "a static backend". */
  readonly title: string;
  /** What in a configuration reads the paths of requests, for people; null: nothing there; false: nothing in any. */
  readonly readsPath: false | ((config: Static<Config>) => string | null);
  readonly description: string;
  readonly example: JsonObject;
  /**
   * The kind's fields beside `description` and `metadata`. `anyBackend` lists the record kinds of all backends,
   * including its own.
   */
  config(anyBackend: readonly string[]): Config;
  check?(config: Static<Config>): readonly FieldProblem[];
  /** The same, where it depends on the settings of the server that is asked. */
  checkOnServer?(config: Static<Config>, settings: BackendSettings): readonly FieldProblem[];
  /** Read-only fields computed at read time. */
  readonly live?: LiveBackendFields<Static<Config>>;
  /** Ids of the backends that a configuration refers to. A kind with this hook is checked for cycles. */
  memberIds?(config: Static<Config>): readonly string[];
  /** Addresses that it sends to: their connections are closed when no edge uses them. */
  upstreamAddresses?(config: Static<Config>): readonly UpstreamAddress[];
  /**
   * Names of the places that can read a request, with its secret headers. A change after which there are no further
   * ones moves no secret. Absent: the places of its members, or else everything in its configuration counts as the name
   * of one.
   */
  sendsTo?(config: Static<Config>): readonly string[];
  /** Whether two backends of this kind may send to the same service. Absent: only if they are one. */
  maySendToSame?(one: Static<Config>, other: Static<Config>): boolean;
  /** Targets in the order of attempts; the next one only when one cannot be reached. */
  targets<Upstream>(
    backend: BackendSnapshot<Static<Config>>,
    ports: TargetPorts<Upstream>,
  ): readonly Target<Upstream>[];
  /** Errors of its unreachable targets. */
  readonly errors?: ErrorRows;
}

/** Settings of the server that a configuration must fit. */
export interface BackendSettings {
  /** The folders that may be served; null: not known, because no server is asked. */
  readonly fileRoots: readonly string[] | null;
  /** Never served. */
  readonly dataDir: string;
}

interface LiveBackendFields<Config> {
  readonly schema: TProperties;
  /** The fields' values by the backend's id. */
  read(
    backends: readonly { readonly id: string; readonly config: Config }[],
    ports: LivePorts,
  ): Promise<ReadonlyMap<string, JsonObject>>;
}

export interface LivePorts {
  /** All online tunnels. */
  onlineTunnels(): Promise<
    readonly { readonly id: string; readonly labels: Readonly<Record<string, string>> | null }[]
  >;
  ref(id: string): Ref;
}

export function defineBackend<Config extends TObject>(backend: Backend<Config>): Backend {
  return backend as unknown as Backend;
}

/** Kind of a backend's records, frozen by the stored data. */
export function recordKindOf({ name }: Pick<Backend, 'name'>): string {
  return `${name}_backend`;
}

/** A backend with everything that it refers to. The object's identity represents its version. */
export interface BackendSnapshot<Config = JsonObject> {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly config: Config;
  /** Member backends by id; a missing one is absent. */
  readonly members: ReadonlyMap<string, BackendSnapshot>;
}

export interface UpstreamAddress {
  /** `host:port`. */
  readonly address: string;
  readonly isTls: boolean;
}

/** Lookups that a kind of backend uses to find its targets. It chooses among upstreams, and sends nothing to them. */
export interface TargetPorts<Upstream> {
  upstreamFor(address: string, isTls: boolean): Upstream;
  /** A folder of this server. The rules are asked for once for each version of the backend. */
  folderOf(backend: Pick<BackendSnapshot, 'id'>, rules: () => Omit<FolderRules, 'roots' | 'forbidden'>): Upstream;
  /** Online tunnels with all of these labels, least busy first; an unreachable target when there is none. */
  tunnelsWith(labels: Readonly<Record<string, string>>): readonly Target<Upstream>[];
  /** A number from 0 up to but not including 1. */
  random(): number;
  /** Targets of a backend that this one names. */
  targetsOf(backend: BackendSnapshot): readonly Target<Upstream>[];
}

/** The single tunnel behind an endpoint. No record has this kind, so it has no folder here. */
export const TUNNEL_BACKEND_KIND = 'tunnel';

/** The destination of one attempt. */
export type Target<Upstream> =
  | { readonly kind: 'upstream'; readonly upstream: Upstream; readonly name: string }
  | {
      readonly kind: 'response';
      readonly name: string;
      readonly status: number;
      readonly headers: HeaderList;
      readonly body: Buffer;
    }
  /** There is nothing to send to; counts as "cannot be reached". */
  | { readonly kind: 'unreachable'; readonly error: UnreachableAnswer; readonly reason: string };

/** The response when no other target can be reached either. */
interface UnreachableAnswer {
  readonly status: number;
  readonly code: ErrorCode;
  /** What is wrong, and what the visitor can do. */
  readonly message: string;
}

/** Each way costs memory, and time of every request that might go there. */
const MAX_WAYS = 10_000;
/** Backends that name each other, one below the other. */
const MAX_LEVELS = 20;

/**
 * How many ways a request can take through backends that name others, counted without walking them: two backends on
 * each of 20 levels that all name both of the next level are a million ways. Null: there are too many levels, as in a
 * cycle.
 */
export function waysOf(id: string, membersOf: (id: string) => readonly string[]): number | null {
  const known = new Map<string, number>();
  const count = (each: string, depth: number): number | null => {
    const found = known.get(each);
    if (found !== undefined) return found;
    if (depth >= MAX_LEVELS) return null;
    const members = membersOf(each);
    let ways = members.length === 0 ? 1 : 0;
    for (const member of members) {
      const through = count(member, depth + 1);
      if (through === null) return null;
      ways += through;
    }
    known.set(each, ways);
    return ways;
  };
  return count(id, 0);
}

/** What is wrong with a backend that has so many, after its name; null: nothing. */
export function waysProblem(ways: number | null): string | null {
  if (ways === null) return `has more than ${MAX_LEVELS} levels of backends below each other: name fewer levels`;
  if (ways <= MAX_WAYS) return null;
  return `leads to ${ways} targets through backends that name others, and at most ${MAX_WAYS} are possible: name fewer backends`;
}
