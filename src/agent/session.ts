import type { Welcome } from '../tunnel/messages.ts';
import type { GatewayConnection } from './gateway-connection.ts';
import type { Tunnel } from './tunnel.ts';

/** The server's record of this run of the agent. */
export class Session {
  readonly id: string;
  /** Proof for a resume or join. A resume returns a new one. */
  secret: string;
  /** Tunnels by the ids that requests carry. */
  readonly tunnels = new Map<string, Tunnel>();
  /** All open connections that were welcomed, including draining ones. */
  readonly connections = new Set<GatewayConnection>();

  /** The server stopped responding in this session: the next connection starts a new one. */
  isAbandoned = false;

  constructor({ session, secret }: Welcome) {
    this.id = session;
    this.secret = secret ?? '';
  }

  get claim(): { readonly session: string; readonly secret: string } {
    return { session: this.id, secret: this.secret };
  }
}
