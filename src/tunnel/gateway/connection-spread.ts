import type { AgentSession, LocalConnection } from './agent-session.ts';

/** Agents that move reconnect with a TLS handshake each. */
const MAX_AT_ONCE = 50;
const LOOK_EVERY_MS = 500;
/** An agent that reaches the same worker again, because that one has the fewest connections, is left there. */
const MAX_MOVES = 3;

/** The connections of this node, with their sessions. */
type Connections = () => Iterable<readonly [LocalConnection, AgentSession | null]>;

/**
 * Keeps the connections of each agent in different workers. When a worker ends, its agents reconnect to the others;
 * once it is replaced, they would stay there, and the end of that one worker would take all their tunnels offline.
 */
export class ConnectionSpread {
  readonly #connections: Connections;
  readonly #workers: number;
  readonly #moved = new WeakSet<LocalConnection>();
  #moves = new WeakMap<AgentSession, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(connections: Connections, workers: number) {
    this.#connections = connections;
    this.#workers = workers;
  }

  /** A worker is ready that has none of them. */
  begin(): void {
    this.#moves = new WeakMap();
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    const crowded = this.#crowded();
    if (crowded.length === 0) this.stop();
    for (const { session, connection } of crowded.slice(0, MAX_AT_ONCE)) {
      this.#moves.set(session, (this.#moves.get(session) ?? 0) + 1);
      this.#moved.add(connection);
      connection.drain();
    }
  }

  /** One connection of each agent that has several in one worker, and none in another. */
  #crowded(): readonly { readonly session: AgentSession; readonly connection: LocalConnection }[] {
    const bySession = new Map<AgentSession, LocalConnection[]>();
    for (const [connection, session] of this.#connections()) {
      if (session === null || connection.worker === undefined || this.#moved.has(connection)) continue;
      const known = bySession.get(session);
      if (known === undefined) bySession.set(session, [connection]);
      else known.push(connection);
    }
    return [...bySession].flatMap(([session, all]) => {
      if ((this.#moves.get(session) ?? 0) >= MAX_MOVES) return [];
      const byWorker = Map.groupBy(all, ({ worker }) => worker);
      const connection = [...byWorker.values()].find(({ length }) => length > 1)?.at(-1);
      return connection === undefined || byWorker.size === this.#workers ? [] : [{ session, connection }];
    });
  }
}
