import type { JsonObject } from '../../lib/json.ts';
import type { PeerLinks } from '../../nodes/links/peer-links.ts';
import type { GatewayMessage } from '../../tunnel/messages.ts';
import type { RemoteSessionConnection } from '../session-connection.ts';

export interface RemoteConnectionFacts {
  readonly nodeId: string;
  readonly number: number;
  readonly remoteAddress: string;
  readonly sessionId: string;
}

interface RemoteConnectionParts {
  readonly links: Pick<PeerLinks, 'call'>;
  push(line: JsonObject): void;
  onClosed(connection: RemoteConnection): void;
}

/** An agent's connection on another node, seen by the session's home: messages travel over the peer link. */
export class RemoteConnection implements RemoteSessionConnection {
  readonly nodeId: string;
  readonly number: number;
  readonly remoteAddress: string;
  readonly #sessionId: string;
  readonly #parts: RemoteConnectionParts;
  #isClosed = false;

  constructor({ nodeId, number, remoteAddress, sessionId }: RemoteConnectionFacts, parts: RemoteConnectionParts) {
    this.nodeId = nodeId;
    this.number = number;
    this.remoteAddress = remoteAddress;
    this.#sessionId = sessionId;
    this.#parts = parts;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send(message: GatewayMessage): void {
    this.#push({ do: 'send', message: message as unknown as JsonObject });
  }

  refuse(code: string, message: string, retry: boolean): void {
    this.#push({ do: 'refuse', code, reason: message, retry });
    this.lost();
  }

  fail(reason: string): void {
    this.#push({ do: 'fail', reason });
    this.lost();
  }

  close(): void {
    this.#push({ do: 'close' });
    this.lost();
  }

  async isAlive(withinMs: number): Promise<boolean> {
    const message = { connection: this.number, within_ms: withinMs };
    const answer = await this.#parts.links.call(this.nodeId, 'session.alive', message, withinMs).catch(() => null);
    return answer?.['alive'] === true;
  }

  /** The connection no longer exists on the other node, or that node is gone. */
  lost(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#parts.onClosed(this);
  }

  #push(line: JsonObject): void {
    if (!this.#isClosed) this.#parts.push({ session: this.#sessionId, connection: this.number, ...line });
  }
}
