import type { LookupFunction } from 'node:net';
import type { Static, TObject } from 'typebox';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';

/** A kind of event destination: one folder and one line in `registry.ts`. The name is the field inside `target`. */
export interface DestinationKind<Config extends TObject = TObject> {
  readonly name: string;
  readonly description: string;
  readonly config: Config;
  /** The field that says where events go: to change it is to have them sent elsewhere. */
  readonly place: string;
  readonly example: JsonObject;
  /** Paths of the problems are relative to the kind's own object. */
  check?(config: Static<Config>): readonly FieldProblem[];
  /** What a change may not do, though the outcome would do for a new one. */
  checkChange?(config: Static<Config>, previous: Static<Config>): readonly FieldProblem[];
  /** Fields that are made up when the client leaves them out, such as a signing secret. */
  complete?(config: Static<Config>, newSecret: () => string): JsonObject;
  /** One for the process, shared by all destinations of the kind. */
  createSender(ports: DestinationPorts): DestinationSender<Static<Config>>;
}

/** What a kind may use of the outside. */
export interface DestinationPorts {
  readonly clock: Clock;
  /** Where files of events go. */
  readonly folder: string;
  readonly fileLimits: { readonly maxBytes: number; readonly maxFiles: number };
  readonly timeoutMs: number;
  /** Judged at the moment of connecting, with the address that is connected to. */
  isAddressAllowed(ip: string, port: number): boolean;
  /** For tests. */
  readonly lookup?: LookupFunction | undefined;
  readonly ca?: string | undefined;
}

export interface DestinationSender<Config = JsonObject> {
  /** Never rejects for what a destination does: that is an outcome. When `signal` aborts, the outcome is of no more interest. */
  send(config: Config, message: EventMessage, signal: AbortSignal): Promise<SendOutcome>;
  close(): Promise<void>;
}

export interface EventMessage {
  /** The event's: the same for every attempt and every replay, so that a receiver can tell what it has already seen. */
  readonly id: string;
  readonly type: string;
  /** The envelope, as JSON. */
  readonly body: string;
}

/**
 * `delivered`: it arrived for good. `wait`: the destination is not there or asks for patience: the lane waits. `refused`: it
 * will not have this event. `gone`: it will never have any.
 */
export type SendVerdict = 'delivered' | 'wait' | 'refused' | 'gone';

export interface SendOutcome {
  readonly verdict: SendVerdict;
  /** Status of the answer, where the kind knows such a thing and one came. */
  readonly status: number | null;
  readonly error: string | null;
  /** How long the destination asked to be left alone. */
  readonly retryAfterMs?: number;
}

export function defineDestinationKind<Config extends TObject>(kind: DestinationKind<Config>): DestinationKind {
  return kind as unknown as DestinationKind;
}
