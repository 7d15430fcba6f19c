import type { AgentMessage, Bind, Done } from '../protocol/messages.ts';
import type { AgentSession, SessionConnection } from './agent-session.ts';
import type { GatewayPorts } from './ports.ts';
import type { SessionLife } from './session-life.ts';
import type { TunnelBinder } from './tunnel-binder.ts';

interface AgentRequestsParts {
  readonly ports: Pick<GatewayPorts, 'log' | 'region'>;
  readonly binder: TunnelBinder;
  readonly life: SessionLife;
  readonly commands: SentCommands;
}

/** Carries out what agents request after their hello, at the session's home. */
export class AgentRequests {
  readonly #parts: AgentRequestsParts;

  constructor(parts: AgentRequestsParts) {
    this.#parts = parts;
  }

  carryOut(
    session: AgentSession,
    connection: SessionConnection,
    message: Exclude<AgentMessage, { t: 'hello' | 'enroll' }>,
  ): void {
    const { life, commands } = this.#parts;
    // Agents send nothing before they have read the welcome.
    session.secretReceived();
    switch (message.t) {
      case 'bind':
        this.#inTurn(session, () => this.#bind(session, connection, message));
        return;
      case 'unbind':
        this.#inTurn(session, () => this.#unbind(session, message.ref));
        return;
      case 'bye':
        this.#inTurn(session, async () => {
          await life.farewell(session);
          await life.end(session, null, 'the agent was closed');
        });
        return;
      case 'problems':
        this.#inTurn(session, () => life.problemsChanged(session, message.problems));
        return;
      case 'done':
        commands.done(connection, message);
    }
  }

  async #bind(session: AgentSession, connection: SessionConnection, bind: Bind): Promise<void> {
    if (session.isEnded) return;
    const { ports, binder } = this.#parts;
    const { ref } = bind;
    const outcome = await binder.bind(session, bind);
    if ('code' in outcome) {
      const { code, message, retry } = outcome;
      connection.send({ t: 'unbound', ref, code, message, retry });
      return;
    }
    const { id, publicUrl, proto, labels } = outcome;
    ports.log.info({ session: session.id, tunnel: id, url: publicUrl, labels }, 'a tunnel is online');
    connection.send({
      t: 'bound',
      ref,
      id,
      ...(publicUrl !== null && { public_url: publicUrl }),
      ...(proto !== null && { proto }),
      region: ports.region,
    });
  }

  async #unbind(session: AgentSession, ref: number): Promise<void> {
    const { life } = this.#parts;
    for (const tunnel of [...session.tunnels.values()]) if (tunnel.ref === ref) await life.endTunnel(tunnel);
  }

  /** Requests of a session are executed in order; a failure closes the connection, not the process. */
  #inTurn(session: AgentSession, task: () => Promise<void>): void {
    session.work = session.work.then(task).catch((err: unknown) => {
      this.#parts.ports.log.error({ err, session: session.id }, 'failed to process a request of an agent');
      for (const connection of session.connections) connection.fail('the server has an internal error');
    });
  }
}

const ANSWER_WITHIN_MS = 5_000;

/** `refused`: the agent's own message. */
export type CommandOutcome = 'accepted' | 'unreachable' | { readonly refused: string };

interface Sent {
  readonly connection: SessionConnection;
  settle(outcome: CommandOutcome): void;
}

/** Commands sent to agents and not yet answered. */
export class SentCommands {
  readonly #waiting = new Map<number, Sent>();
  #lastId = 0;

  send(connection: SessionConnection, command: 'stop' | 'restart' | 'update'): Promise<CommandOutcome> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(id, 'unreachable'), ANSWER_WITHIN_MS);
      this.#waiting.set(id, {
        connection,
        settle: (outcome) => {
          clearTimeout(timer);
          resolve(outcome);
        },
      });
      connection.send({ t: 'command', id, command });
    });
  }

  done(connection: SessionConnection, { id, ok, message }: Done): void {
    if (this.#waiting.get(id)?.connection === connection) this.#settle(id, ok ? 'accepted' : { refused: message });
  }

  lost(connection: SessionConnection): void {
    for (const [id, sent] of this.#waiting) if (sent.connection === connection) this.#settle(id, 'unreachable');
  }

  #settle(id: number, outcome: CommandOutcome): void {
    const sent = this.#waiting.get(id);
    this.#waiting.delete(id);
    sent?.settle(outcome);
  }
}
