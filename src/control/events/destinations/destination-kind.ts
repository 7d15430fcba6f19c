import type { LookupFunction } from 'node:net';
import type { Static, TObject } from 'typebox';
import type { Clock } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { FieldProblem } from '../../../kit/schema/field-problem.ts';

/** A kind of event destination: one folder and one line in `registry.ts`. The name is the field inside `target`. */
export interface DestinationKind<Config extends TObject = TObject> {
  readonly name: string;
  readonly description: string;
  readonly config: Config;
  /** The field that holds the destination: changing it sends events elsewhere. */
  readonly place: string;
  readonly example: JsonObject;
  /** Formats that it sends events in; absent: only `json`. Its sender gets the destination's as `format`. */
  readonly formats?: readonly string[];
  /** Problem paths are relative to the kind's own object. */
  check?(config: Static<Config>): readonly FieldProblem[];
  /** Changes that are rejected even though the result would be valid for a new destination. */
  checkChange?(config: Static<Config>, previous: Static<Config>): readonly FieldProblem[];
  /** Fields generated when the client omits them, such as a signing secret. */
  complete?(config: Static<Config>, newSecret: () => string): JsonObject;
  /** Called once per process; all destinations of the kind share the sender. */
  createSender(ports: DestinationPorts): DestinationSender<Static<Config>>;
}

/** External effects that a kind may use. */
export interface DestinationPorts {
  readonly clock: Clock;
  /** Directory for event files. */
  readonly folder: string;
  readonly fileLimits: { readonly maxBytes: number; readonly maxFiles: number };
  readonly timeoutMs: number;
  /** Called when connecting, with the address that is about to be used. */
  isAddressAllowed(ip: string, port: number): boolean;
  /** For tests. */
  readonly lookup?: LookupFunction | undefined;
  readonly ca?: string | undefined;
}

export interface DestinationSender<Config = JsonObject> {
  /**
   * Never rejects because of the destination's behaviour: that is an outcome. After `signal` aborts, the outcome is
   * ignored.
   */
  send(config: Config, message: EventMessage, signal: AbortSignal): Promise<SendOutcome>;
  close(): Promise<void>;
}

export interface EventMessage {
  /** The event's id: the same for every attempt and every replay, so that a receiver can detect duplicates. */
  readonly id: string;
  readonly type: string;
  /** The envelope, as JSON. */
  readonly body: string;
}

/**
 * `delivered`: accepted permanently. `wait`: unreachable, or asks to retry later: the lane waits. `refused`: does not
 * accept this event. `gone`: will never accept any event.
 */
export type SendVerdict = 'delivered' | 'wait' | 'refused' | 'gone';

export interface SendOutcome {
  readonly verdict: SendVerdict;
  /** HTTP status of the response, where the kind has one and a response arrived. */
  readonly status: number | null;
  readonly error: string | null;
  /** How long the destination asked to wait. */
  readonly retryAfterMs?: number;
}

export function defineDestinationKind<Config extends TObject>(kind: DestinationKind<Config>): DestinationKind {
  return kind as unknown as DestinationKind;
}
