import type { LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import type { Invitation } from '../../tunnel/invitation-line.ts';
import type { Enrolled } from '../../tunnel/messages.ts';
import { PROTOCOL_VERSION } from '../../tunnel/protocol.ts';
import { AgentError } from '../agent-error.ts';
import { dialGateway, type GatewayAddress } from '../dial-gateway.ts';
import { gatewayAddress } from '../gateway-address.ts';
import { GatewayConnection } from '../gateway-connection.ts';
import { refuseStream } from '../local/local-failure.ts';
import { type AgentTimings, DEFAULT_TIMINGS } from '../timings.ts';
import { presentedAuthority } from './presented-authority.ts';

const TRIES = 3;
const TRY_AGAIN_MS = 1_000;

export interface EnrollOptions {
  readonly invitation: Invitation;
  /** The agent's own choice; the server stores its hash. With the same one, a repeated enrolment has the same result. */
  readonly token: string;
  /** Host name of this machine. */
  readonly name: string;
  /** PEM certificates to trust instead of the system's, for an invitation without the hash of a CA. */
  readonly ca?: readonly string[] | undefined;
  readonly lookup?: LookupFunction | undefined;
  readonly timings?: Partial<AgentTimings> | undefined;
}

export interface Enrolment {
  readonly credentialId: string;
  readonly acl: readonly string[];
  /** PEM of the CA that the invitation names. */
  readonly authority: string | null;
}

/** A failure that another attempt may not have. */
class Transient extends AgentError {}

/**
 * Exchanges an invitation for a credential. The secret goes over a connection that was verified with the CA whose hash
 * the invitation has. Rejects with an `AgentError`.
 */
export async function enroll(options: EnrollOptions): Promise<Enrolment> {
  const { invitation, lookup } = options;
  const timings = { ...DEFAULT_TIMINGS, ...options.timings };
  const named = { serverAddr: invitation.gateway, lookup };
  for (let tried = 1; ; tried += 1) {
    try {
      const { caSha256 } = invitation;
      const authority =
        caSha256 === null ? null : await presentedAuthority(gatewayAddress(named), caSha256, timings.connectTimeoutMs);
      const address = gatewayAddress({ ...named, ca: authority ?? options.ca });
      const { credential, acl } = await exchange(await dial(address, timings), options, timings);
      return { credentialId: credential, acl, authority };
    } catch (error) {
      if (!(error instanceof Transient) || tried === TRIES) throw error;
      await sleep(TRY_AGAIN_MS);
    }
  }
}

function dial(address: GatewayAddress, timings: AgentTimings): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    dialGateway(address, timings.connectTimeoutMs, (socket, problem) => {
      if (socket !== null) resolve(socket);
      else reject(new AgentError(problem?.code ?? '', problem?.message ?? ''));
    });
  });
}

function exchange(
  socket: TLSSocket,
  { invitation: { secret }, token, name }: EnrollOptions,
  timings: AgentTimings,
): Promise<Enrolled> {
  return new Promise((resolve, reject) => {
    const connection = new GatewayConnection(
      socket,
      {
        onReady: () => connection.send({ t: 'enroll', version: PROTOCOL_VERSION, secret, token, name }),
        onMessage: (_connection, message) => {
          if (message.t === 'enrolled') resolve(message);
          else if (message.t !== 'refused') reject(new AgentError('ERR_POSTERN_AGENT_PROTOCOL', UNEXPECTED));
          else reject(new (message.retry ? Transient : AgentError)(message.code, message.message));
          connection.fail('the agent has its answer');
        },
        onStream: (_connection, stream) => refuseStream(stream, 404),
        // The server closes the connection with its answer, which may be read after this.
        onDrain: () => {},
        onClosed: (_connection, reason) =>
          reject(new Transient('ERR_POSTERN_AGENT_UNREACHABLE', `the server did not answer: ${reason}`)),
      },
      timings,
    );
  });
}

const UNEXPECTED = 'the server sent another message than an answer to the invitation: use the same release of both';
