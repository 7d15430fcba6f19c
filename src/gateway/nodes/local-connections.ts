import type { AgentMessage } from '../../tunnel/messages.ts';
import type { LocalConnection } from '../local-connection.ts';

type Request = Exclude<AgentMessage, { t: 'hello' | 'enroll' }>;

interface Held {
  readonly number: number;
  /** Requests that the home has not answered or confirmed, in order: a new home carries them out. */
  readonly open: Map<string, Request>;
}

/** Connections of this node whose sessions have their home elsewhere, with the numbers that the home knows. */
export class LocalConnections {
  readonly #byNumber = new Map<number, LocalConnection>();
  readonly #held = new Map<LocalConnection, Held>();
  #last = 0;

  number(connection: LocalConnection): number {
    const known = this.#held.get(connection);
    if (known !== undefined) return known.number;
    this.#last += 1;
    this.#held.set(connection, { number: this.#last, open: new Map() });
    this.#byNumber.set(this.#last, connection);
    return this.#last;
  }

  get(number: unknown): LocalConnection | undefined {
    return typeof number === 'number' ? this.#byNumber.get(number) : undefined;
  }

  delete(connection: LocalConnection): void {
    const held = this.#held.get(connection);
    this.#held.delete(connection);
    if (held !== undefined) this.#byNumber.delete(held.number);
  }

  opened(connection: LocalConnection, request: Request): void {
    this.#held.get(connection)?.open.set(keyOf(request), request);
  }

  /** The home has carried out the request. A bind counts as carried out when its answer arrives. */
  settled(connection: LocalConnection, key: string): void {
    this.#held.get(connection)?.open.delete(key);
  }

  /** Removes and returns the open requests, for a new home that carries them out. */
  takeOpen(connection: LocalConnection): readonly Request[] {
    const open = this.#held.get(connection)?.open;
    const requests = [...(open?.values() ?? [])];
    open?.clear();
    return requests;
  }
}

export function keyOf(request: Request): string {
  return 'ref' in request ? `${request.t} ${request.ref}` : request.t;
}
