import { hash } from 'node:crypto';
import { isIP, type LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { messageOf } from '../../kit/error-text.ts';
import { type ListenerOwner, listen, listenOnce } from '../../kit/guarded-listeners.ts';
import type { Invitation } from '../protocol/invitation-line.ts';
import type { Enrolled } from '../protocol/messages.ts';
import { ALPN, PROTOCOL_VERSION } from '../protocol/protocol.ts';
import { dialGateway, dialProblem, dialTimeout, type GatewayAddress, gatewayAddress } from './dial-gateway.ts';
import { AgentError } from './errors.ts';
import { GatewayConnection } from './gateway-connection.ts';
import { refuseStream } from './local/local-failure.ts';
import { type AgentTimings, DEFAULT_TIMINGS } from './timings.ts';

const TRIES = 3;
const TRY_AGAIN_MS = 1_000;

export interface EnrollOptions {
  readonly invitation: Invitation;
  /**
   * The agent's own choice; the server stores its hash. With the same one, a repeated enrolment has the same result.
   */
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

/** Chains are short; a peer may send a long one. */
const MAX_CHAIN = 10;
const PEM_LINE = 64;

/**
 * The CA with this hash, in PEM, from the chain that the peer presents. This connection proves nothing and carries
 * nothing: the caller dials again, and verifies with the CA that it got here.
 */
async function presentedAuthority(
  address: Omit<GatewayAddress, 'context'>,
  caSha256: string,
  timeoutMs: number,
): Promise<string> {
  const chain = await presentedChain(address, timeoutMs);
  const found = chain.find((der) => hash('sha256', der, 'hex') === caSha256);
  if (found !== undefined) return pemOf(found);
  throw new AgentError(
    'ERR_POSTERN_AGENT_CERTIFICATE',
    `${address.serverAddr} is not the gateway of the invitation: its certificate comes from another CA. Nothing was sent. Something between the two machines may intercept the connection; otherwise, ask for a new invitation`,
  );
}

function presentedChain(
  { host, port, servername, serverAddr, lookup }: Omit<GatewayAddress, 'context'>,
  timeoutMs: number,
): Promise<readonly Buffer[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      ...{ host, port, lookup, autoSelectFamily: true },
      ALPNProtocols: [ALPN],
      servername: isIP(servername) === 0 ? servername : '',
      rejectUnauthorized: false,
    });
    const fail = (problem: { readonly code: string; readonly message: string }): void => {
      reject(new AgentError(problem.code, problem.message));
      socket.destroy();
    };
    const owner: ListenerOwner = {
      contain: (error) => fail({ code: 'ERR_POSTERN_AGENT_CERTIFICATE', message: messageOf(error) }),
    };
    const timer = setTimeout(() => fail(dialTimeout(serverAddr, timeoutMs)), timeoutMs);
    listenOnce(socket, 'secureConnect', owner, () => {
      resolve(chainOf(socket.getPeerCertificate(true)));
      socket.destroy();
    });
    listen(socket, 'error', owner, (error: Error) => fail(dialProblem(error, { serverAddr, servername }, null)));
    listenOnce(socket, 'close', owner, () => {
      clearTimeout(timer);
      fail({ code: 'ERR_POSTERN_AGENT_UNREACHABLE', message: `${serverAddr} closed the connection: try again` });
    });
  });
}

/** Each certificate once, the leaf first. */
function chainOf(leaf: DetailedPeerCertificate): readonly Buffer[] {
  const chain: Buffer[] = [];
  let each: DetailedPeerCertificate | undefined = leaf;
  while (each?.raw !== undefined && chain.length < MAX_CHAIN) {
    chain.push(each.raw);
    // A root is its own issuer.
    each = each.issuerCertificate === each ? undefined : each.issuerCertificate;
  }
  return chain;
}

function pemOf(der: Buffer): string {
  const lines = der.toString('base64').match(new RegExp(`.{1,${PEM_LINE}}`, 'g')) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
