import type { Welcome } from '../tunnel/messages.ts';
import type { GatewayConnection } from './gateway-connection.ts';
import type { Tunnel } from './tunnel.ts';

/** What the server knows this run of the agent as. */
export class Session {
  readonly id: string;
  /** What a resume or join has to show; a resume brings a new one. */
  secret: string;
  /** Its tunnels by the ids that requests name. */
  readonly tunnels = new Map<string, Tunnel>();
  /** All that were welcomed and are open, also those that are leaving. */
  readonly connections = new Set<GatewayConnection>();

  /** The server leaves what it is asked for unanswered: the next connection begins another session. */
  isAbandoned = false;

  constructor({ session, secret }: Welcome) {
    this.id = session;
    this.secret = secret ?? '';
  }

  get claim(): { readonly session: string; readonly secret: string } {
    return { session: this.id, secret: this.secret };
  }
}
