import { isIP, type LookupFunction } from 'node:net';
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { attach, closing, guarded, ignoreErrors } from '../lib/guarded-listeners.ts';
import { ALPN } from '../tunnel/protocol.ts';
import { type DialProblem, dialProblem, dialTimeout, notGateway } from './dial-problem.ts';

export interface GatewayAddress {
  readonly serverAddr: string;
  readonly host: string;
  readonly port: number;
  readonly servername: string;
  context(): SecureContext;
  readonly lookup: LookupFunction;
}

export type DialHandler = (socket: TLSSocket | null, problem: DialProblem | null) => void;

/**
 * Connects, and returns a function that cancels the attempt; after cancelling, the handler is not called. The name is
 * resolved for every attempt: an agent that caches an address stays offline when its server or its own network moves.
 * No TLS session is resumed, so the certificate is verified every time.
 */
export function dialGateway(address: GatewayAddress, timeoutMs: number, handler: DialHandler): () => void {
  const { host, port, servername, serverAddr } = address;
  let certificate: PeerCertificate | null = null;
  const target = { host, port, lookup: address.lookup, autoSelectFamily: true };
  const options: ConnectionOptions = {
    ...target,
    secureContext: address.context(),
    ALPNProtocols: [ALPN],
    // An IP address is not a valid server name (RFC 6066 §3), but the certificate must still contain it.
    servername: isIP(servername) === 0 ? servername : '',
    checkServerIdentity: (_host, shown) => {
      certificate = shown;
      return checkServerIdentity(servername, shown);
    },
  };
  const socket = connect(options);
  const owner = closing(socket, 'gateway dial');
  const end = (): void => {
    clearTimeout(timer);
    socket.off('secureConnect', onReady).off('error', onError).off('close', onClose);
  };
  const fail = (problem: DialProblem): void => {
    end();
    ignoreErrors(socket).destroy();
    handler(null, problem);
  };
  const onError = guarded(owner, (error: unknown): void => {
    // `checkServerIdentity` does not run for an expired or untrusted certificate, so it has to be read here.
    const shown = certificate ?? (socket.getPeerCertificate() as PeerCertificate | null);
    fail(dialProblem(error, { serverAddr, servername }, shown));
  });
  const onClose = guarded(owner, () => fail(notGateway(serverAddr)));
  const onReady = guarded(owner, () => {
    if (socket.alpnProtocol !== ALPN) {
      fail(notGateway(serverAddr));
      return;
    }
    end();
    handler(socket, null);
  });
  const onTimeout = guarded(owner, () => fail(dialTimeout(serverAddr, timeoutMs)));
  const timer = setTimeout(onTimeout, timeoutMs);
  attach(socket, 'secureConnect', onReady);
  attach(socket, 'error', onError);
  attach(socket, 'close', onClose);
  return () => {
    end();
    ignoreErrors(socket).destroy();
  };
}
