import type { Static, TObject, TProperties } from 'typebox';
import type { ErrorRows } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Ref } from '../lib/schema/annotations.ts';
import type { FieldProblem } from '../lib/schema/field-problem.ts';
import type { BackendSnapshot, TargetPorts, UpstreamAddress } from './backend-snapshot.ts';
import type { Target } from './target.ts';

/**
 * The contract of a kind of backend: one folder and one line in `registry.ts`. API, storage, references, events, documentation,
 * command line, client, compilation and traffic follow from it.
 */
export interface Backend<Config extends TObject = TObject> {
  /** The folder's name, and the last segment of `/backends/static`. */
  readonly name: string;
  readonly idPrefix: string;
  /** Its name in a sentence: "a static backend". */
  readonly title: string;
  /** What in a configuration reads the paths of requests, for people; null: nothing there; false: nothing in any. */
  readonly readsPath: false | ((config: Static<Config>) => string | null);
  readonly description: string;
  readonly example: JsonObject;
  /**
   * Its fields beside `description` and `metadata`. `anyBackend` lists the record kinds of all backends, including its
   * own.
   */
  config(anyBackend: readonly string[]): Config;
  check?(config: Static<Config>): readonly FieldProblem[];
  /** Read-only fields computed at read time. */
  readonly live?: LiveBackendFields<Static<Config>>;
  /** Ids of the backends that a configuration refers to. A kind with this hook is checked for cycles. */
  memberIds?(config: Static<Config>): readonly string[];
  /** Addresses that it sends to: their connections are closed when no edge uses them. */
  upstreamAddresses?(config: Static<Config>): readonly UpstreamAddress[];
  /**
   * Names of the places that can read a request, with its secret headers. A change after which there are no further ones moves no
   * secret. Absent: the places of its members, or else everything in its configuration counts as the name of one.
   */
  sendsTo?(config: Static<Config>): readonly string[];
  /** Whether two backends of this kind may send to the same service. Absent: only if they are one. */
  maySendToSame?(one: Static<Config>, other: Static<Config>): boolean;
  /** Targets in the order of attempts; the next one only when one cannot be reached. */
  targets(backend: BackendSnapshot<Static<Config>>, ports: TargetPorts): readonly Target[];
  /** Errors of its unreachable targets. */
  readonly errors?: ErrorRows;
}

export interface LiveBackendFields<Config> {
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
