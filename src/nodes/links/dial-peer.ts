import { type ConnectionOptions, connect, type SecureContext, type TLSSocket } from 'node:tls';
import { messageOf } from '../../lib/error-text.ts';
import { attach, closing, guarded, ignoreErrors } from '../../lib/guarded-listeners.ts';
import { parseListenAddress } from '../../lib/net/listen-address.ts';
import { certifiedNode } from '../../pki/certified-node.ts';
import { DIAL_TIMEOUT_MS, PEER_ALPN } from './peer-protocol.ts';

export interface PeerTarget {
  /** `host:port`. The name is resolved for every attempt. */
  readonly address: string;
  /** The certificate must name this node id: another node may have the address by now. */
  readonly nodeId: string;
  readonly context: SecureContext;
}

/** Either the socket or the problem is null. */
export type DialHandler = (socket: TLSSocket | null, problem: string | null) => void;

/** Connects, and returns a function that cancels the attempt; after cancelling, the handler is not called. */
export function dialPeer({ address, nodeId, context }: PeerTarget, handler: DialHandler): () => void {
  const target = parseListenAddress(address);
  if (target === null) {
    const refusal = setImmediate(() => handler(null, `its peer address ${JSON.stringify(address)} is not host:port`));
    return () => clearImmediate(refusal);
  }
  const options: ConnectionOptions & { autoSelectFamily: boolean } = {
    ...target,
    autoSelectFamily: true,
    secureContext: context,
    ALPNProtocols: [PEER_ALPN],
    // The chain is verified by the context; the certificate has no host name.
    checkServerIdentity: () => undefined,
  };
  const socket = connect(options);
  const owner = closing(socket, 'peer dial');
  const end = (): void => {
    clearTimeout(timer);
    socket.off('secureConnect', onReady).off('error', onError).off('close', onClose);
  };
  const fail = (problem: string): void => {
    end();
    ignoreErrors(socket).destroy();
    handler(null, problem);
  };
  const onReady = guarded(owner, () => {
    const certified = certifiedNode(socket.getPeerX509Certificate() ?? { subjectAltName: undefined });
    if (socket.alpnProtocol !== PEER_ALPN) fail('what listens there is no Postern node');
    else if (certified !== nodeId) fail(`another node (${certified}) answers there`);
    else {
      end();
      handler(socket, null);
    }
  });
  const onError = guarded(owner, (error: unknown) => fail(messageOf(error)));
  const onClose = guarded(owner, () => fail('the connection was closed'));
  const onTimeout = guarded(owner, () => fail(`no TLS connection within ${DIAL_TIMEOUT_MS} ms`));
  const timer = setTimeout(onTimeout, DIAL_TIMEOUT_MS);
  attach(socket, 'secureConnect', onReady);
  attach(socket, 'error', onError);
  attach(socket, 'close', onClose);
  return () => {
    end();
    ignoreErrors(socket).destroy();
  };
}
