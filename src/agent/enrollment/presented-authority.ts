import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import { messageOf } from '../../lib/error-text.ts';
import { type ListenerOwner, listen, listenOnce } from '../../lib/guarded-listeners.ts';
import { ALPN } from '../../tunnel/protocol.ts';
import { AgentError } from '../agent-error.ts';
import type { GatewayAddress } from '../dial-gateway.ts';
import { dialProblem, dialTimeout } from '../dial-problem.ts';

/** Chains are short; a peer may send a long one. */
const MAX_CHAIN = 10;
const PEM_LINE = 64;

/**
 * The CA with this hash, in PEM, from the chain that the peer presents. This connection proves nothing and carries
 * nothing: the caller dials again, and verifies with the CA that it got here.
 */
export async function presentedAuthority(
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
